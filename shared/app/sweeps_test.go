package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domain"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/ledger"
	"parley.internal/shared/op"
	"parley.internal/shared/overview"
	"parley.internal/shared/relay"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func (o *fixture) sweep(name string) int {
	o.t.Helper()
	for _, s := range o.Sweeps() {
		if s.Name == name {
			report, err := s.Run(o.t.Context(), store.NewAdmin(o.DB))
			if domaintest.Must(report, err)(o.t); report.More || report.Sweep != name {
				o.t.Errorf("it reports %+v", report)
			}
			return report.Total()
		}
	}
	o.t.Fatalf("no sweep %q", name)
	return 0
}

func TestTheTasksOfASilentSessionAreReleasedAndTheirSourceIsNotifiedOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		id := o.startTask()
		o.Pass(65*time.Minute - time.Second)
		if n := o.sweep("sessions"); n != 0 {
			t.Errorf("%d sessions ended too early", n)
		}
		o.Pass(time.Second)
		if n := o.sweep("sessions"); n != 1 {
			t.Errorf("%d sessions ended", n)
		}
		v, err := o.Dispatch.Get(t.Context(), alpha, op.Fill(dispatch.TaskInput{TaskID: id}))
		if domaintest.Must(v, err)(t); v.Status != task.Created || v.ClaimedBy != "" ||
			!strings.Contains(v.Reason, "beta.1") {
			t.Errorf("the task is %+v", v)
		}
		if n := o.sweep("sessions"); n != 0 {
			t.Errorf("%d sessions ended again", n)
		}
		mail, err := o.Relay.Get(t.Context(), alpha, op.Fill(relay.GetInput{}))
		domaintest.Must(mail, err)(t)
		if len(mail.Messages) != 1 || mail.Messages[0].Source != "parley" || !mail.Messages[0].Verified ||
			!strings.Contains(mail.Messages[0].Message, "build it") {
			t.Errorf("alpha was told %+v", mail.Messages)
		}
		if v := o.overview(overview.Input{}); len(v.Sessions)+len(v.Claims) != 0 {
			t.Errorf("still shown: %+v", v)
		}
	})
}

func TestEverySweepHandlesItsDocuments(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx := t.Context()
		leased, err := o.Dispatch.Create(ctx, alpha, op.Fill(dispatch.CreateInput{Title: "leased", Target: "beta"}))
		domaintest.Must(leased, err)(t)
		claim, err := o.Dispatch.Claim(ctx, beta, op.Fill(dispatch.ClaimInput{TaskID: leased.TaskID}))
		domaintest.Must(claim, err)(t)
		late, err := o.Dispatch.Create(ctx, alpha, op.Fill(dispatch.CreateInput{
			Title:  "late",
			Target: "beta",
			TTL:    60,
		}))
		domaintest.Must(late, err)(t)
		m, err := o.Relay.Send(ctx, alpha, op.Fill(relay.SendInput{
			Message:     "hi",
			Target:      "beta",
			MessageType: "STATUS",
			TTL:         60,
		}))
		domaintest.Must(m, err)(t)
		o.Ledger.Record(op.Usage{Op: "look", Transport: "mcp", Caller: alpha, At: o.Now()})
		if err := o.Ledger.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		o.Pass(time.Hour)
		for name, want := range map[string]int{"sessions": 0, "tasks": 2, "relay": 1, "ledger": 0} {
			if n := o.sweep(name); n != want {
				t.Errorf("after an hour %s handled %d", name, n)
			}
		}
		o.Pass(30 * 24 * time.Hour)
		for name, want := range map[string]int{"sessions": 0, "tasks": 1, "relay": 1, "ledger": 1} {
			if n := o.sweep(name); n != want {
				t.Errorf("after thirty days %s handled %d", name, n)
			}
		}
		used, err := o.Ledger.Usage(ctx, alpha, ledger.UsageInput{From: "2026-03-01", To: "2026-03-01"})
		if domaintest.Must(used, err)(t); used.Total.Calls != 1 {
			t.Errorf("the day's totals are %+v", used)
		}
	})
}

func TestAStepThatFailsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	left := 450
	s := Sweep{steps: []domain.Sweep{
		{Name: "bad", Run: func(context.Context, *store.Admin, int) (int, error) { return 3, down }},
		{Name: "good", Run: func(_ context.Context, _ *store.Admin, limit int) (int, error) {
			n := min(left, limit)
			left -= n
			return n, nil
		}},
	}}
	report, err := s.Run(t.Context(), nil)
	if report.Handled["bad"] != 3 || report.Handled["good"] != 450 || report.Total() != 453 || report.More ||
		!errors.Is(err, down) ||
		!strings.Contains(err.Error(), "bad") ||
		left != 0 {
		t.Errorf("%+v, %v, %d are left", report, err, left)
	}
}

func TestAnInterruptedSweepReportsThatDocumentsAreLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	begun := 0
	s := Sweep{Name: "tasks", steps: []domain.Sweep{
		{Name: "first", Run: func(_ context.Context, _ *store.Admin, limit int) (int, error) {
			if begun++; begun == 2 {
				cancel()
				return 7, context.Canceled
			}
			return limit, nil
		}},
		{Name: "second", Run: func(context.Context, *store.Admin, int) (int, error) {
			t.Error("it began after its time")
			return 0, nil
		}},
	}}
	report, err := s.Run(ctx, nil)
	if err != nil || !report.More || report.Handled["first"] != batch+7 || report.Sweep != "tasks" {
		t.Errorf("%+v, %v", report, err)
	}
}
