package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/ledger"
	"parley.internal/shared/op"
	"parley.internal/shared/pauses"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
)

const repository = "github.com/acme/app"

// hook makes a call of a client's hook; the input's defaults are those of the thread "one" of claude.
func (o *fixture) hook(c identity.Caller, in wire.HookInput) wire.HookOutput {
	o.t.Helper()
	out, err := o.tryHook(c, in)
	return domaintest.Must(out, err)(o.t)
}

func (o *fixture) tryHook(c identity.Caller, in wire.HookInput) (wire.HookOutput, error) {
	in.Version, in.Client, in.Thread = 1, cmp.Or(in.Client, "claude"), cmp.Or(in.Thread, "one")
	in.Event = cmp.Or(in.Event, wire.Tool)
	return o.Hook.Hook(o.t.Context(), c, in)
}

// start begins the session of a thread and returns its address.
func (o *fixture) start(c identity.Caller, thread string) string {
	o.t.Helper()
	return o.hook(c, wire.HookInput{Event: wire.Start, Thread: thread, Project: repository}).SessionID
}

// send sends a message from beta, a STATUS by default, and returns its id.
func (o *fixture) send(target, text, kind string) string {
	o.t.Helper()
	out, err := o.Relay.Send(o.t.Context(), beta, op.Fill(relay.SendInput{Message: text, Target: target,
		MessageType: cmp.Or(kind, "STATUS")}))
	return domaintest.Must(out, err)(o.t).MessageID
}

func texts(mail []wire.Mail) string {
	var out []string
	for _, m := range mail {
		text := m.Text
		if m.Again {
			text += " again"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestAThreadOfAClientHasOneSessionWithTheLowestFreeAddress(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		first := o.start(alpha, "one")
		if again := o.start(alpha, "one"); first != "alpha/1" || again != first {
			t.Errorf("a thread has %s and then %s", first, again)
		}
		if other := o.start(alpha, "two"); other != "alpha/2" {
			t.Errorf("another thread has %s", other)
		}
		if other := o.hook(beta, wire.HookInput{Event: wire.Prompt}).SessionID; other != "beta/1" {
			t.Errorf("a thread whose start was missed has %s", other)
		}
		o.hook(alpha, wire.HookInput{Event: wire.End})
		if resumed := o.hook(alpha, wire.HookInput{Event: wire.Resume}).SessionID; resumed != first {
			t.Errorf("after its end it goes on as %s", resumed)
		}
		_, err := o.tryHook(domaintest.Human("u"), wire.HookInput{})
		domaintest.Refused(t, "a person", err, fault.Forbidden, "bound to a program")
		_, err = o.tryHook(alpha, wire.HookInput{Event: wire.Read, Thread: "unknown"})
		domaintest.Refused(t, "a read without a session", err, fault.NotFound, "start")
	})
}

func TestConcurrentEventsOfAThreadBeginOneSession(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		got := make([]string, 4)
		failed := domaintest.Together(len(got), func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				out, err := o.tryHook(alpha, wire.HookInput{Event: wire.Tool})
				got[i] = out.SessionID
				return err
			})
		})
		if len(failed) > 0 || strings.Join(got, " ") != "alpha/1 alpha/1 alpha/1 alpha/1" {
			t.Errorf("sessions %v, failures %v", got, failed)
		}
	})
}

// A client that was away returns to an address that another one has taken meanwhile.
func TestAThreadDoesNotReturnToAnAddressThatAnotherHas(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		address := o.start(alpha, "one")
		o.Pass(66 * time.Minute)
		_, err := o.Pulse.SweepSessions(t.Context(), store.NewAdmin(o.DB), 10)
		domaintest.Check(t, err)
		if taken := o.start(alpha, "two"); taken != address {
			t.Fatalf("the archived %s is not taken again: %s", address, taken)
		}
		o.send(address, "for two", "")
		back := o.hook(alpha, wire.HookInput{SessionID: address, MaxBytes: 4096})
		if back.SessionID != "alpha/2" || len(back.Mail) != 0 {
			t.Errorf("the first thread is %s and has the mail %v", back.SessionID, back.Mail)
		}
	})
}

func TestMailIsHandedOverOnceUnderAReceipt(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		address := o.start(alpha, "one")
		o.send(address, "a status", "")
		o.send("alpha", "a question", "QUERY")
		read := wire.HookInput{MaxBytes: 1024}
		counted := o.hook(alpha, wire.HookInput{})
		if w := counted.Waiting; w.Mail != 2 || w.Urgent != 1 || counted.More != 2 || counted.Mail != nil || counted.Receipt != "" {
			t.Errorf("counts alone: %+v", counted)
		}
		first := o.hook(alpha, read)
		if texts(first.Mail) != "a status, a question" || first.Receipt == "" || first.More != 0 {
			t.Fatalf("first %+v", first)
		}
		if m := first.Mail[0]; m.From != "beta" || !m.Verified || m.To != address || m.Type != "STATUS" || m.Human {
			t.Errorf("a message is %+v", m)
		}
		if next := o.hook(alpha, read); len(next.Mail) != 0 || next.Waiting.Mail != 0 {
			t.Errorf("before the receipt %+v", next)
		}
		o.Pass(2 * time.Minute) // the hook died with the answer
		second := o.hook(alpha, read)
		if texts(second.Mail) != "a status again, a question again" {
			t.Errorf("after two minutes %+v", second.Mail)
		}
		for range 2 { // a repeated receipt changes nothing
			if out := o.hook(alpha, wire.HookInput{MaxBytes: 1024, Receipt: second.Receipt}); len(out.Mail) != 0 {
				t.Errorf("with the receipt %+v", out.Mail)
			}
		}
		o.Pass(time.Minute)
		if out := o.hook(alpha, read); len(out.Mail) != 0 {
			t.Errorf("after the receipt %+v", out.Mail)
		}
	})
}

func TestASessionHasItsOwnMailAndOneOfThemThatOfTheProgram(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		o.start(alpha, "one")
		two := o.start(alpha, "two")
		o.send(two, "for two", "")
		o.send("alpha", "for any", "")
		one := o.hook(alpha, wire.HookInput{MaxBytes: 4096})
		other := o.hook(alpha, wire.HookInput{Thread: "two", MaxBytes: 4096})
		if texts(one.Mail) != "for any" || texts(other.Mail) != "for two" {
			t.Errorf("one has %q, two has %q", texts(one.Mail), texts(other.Mail))
		}
	})
}

func TestAnOutputKeepsToItsBoundsWhateverOthersWrite(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		address := o.start(alpha, "one")
		for i := range 10 {
			o.start(beta, fmt.Sprint("b", i))
			o.hook(beta, wire.HookInput{Thread: fmt.Sprint("b", i), Project: repository, Directory: strings.Repeat("<&>", 100),
				Branch: strings.Repeat("é", 200), Host: strings.Repeat("h", 100)})
			o.send(address, strings.Repeat("<\"\\é\u202e\x1b[31m\r\n", 300), "")
		}
		seen := 0
		for _, most := range []int{0, 100, 700, 1024, 2048, 4096} {
			out := o.hook(alpha, wire.HookInput{Event: wire.Compact, Project: repository, MaxBytes: most})
			text, err := json.Marshal(out)
			domaintest.Check(t, err)
			mail, err := json.Marshal(out.Mail)
			domaintest.Check(t, err)
			if len(text) > wire.MaxAnswer || out.Mail != nil && len(mail) > most+2 {
				t.Errorf("%d bytes with mail of %d, for %d", len(text), len(mail), most)
			}
			if seen += len(out.Mail); out.More != 10-seen {
				t.Errorf("%d of 10 were handed over and %d are left", seen, out.More)
			}
			for _, m := range out.Mail {
				if strings.ContainsAny(m.Text, "\x1b\r\u202e") || !m.Truncated || m.Text == "" {
					t.Errorf("a text of %d bytes, truncated %t", len(m.Text), m.Truncated)
				}
			}
		}
		if seen < 4 {
			t.Errorf("only %d messages came", seen)
		}
	})
}

func TestAnAnswerIsToldOncePerReceipt(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx, address := t.Context(), o.start(alpha, "one")
		ask := func(in signal.AskInput) string {
			out, err := o.Signal.Ask(ctx, alpha, op.Fill(in))
			id := domaintest.Must(out, err)(t).QuestionID
			_, err = o.Signal.Answer(ctx, domaintest.Human("u"), signal.AnswerInput{QuestionID: id, Response: "yes"})
			domaintest.Check(t, err)
			return id
		}
		open, err := o.Signal.Ask(ctx, alpha, op.Fill(signal.AskInput{Question: "open?", SessionID: address}))
		domaintest.Must(open, err)(t)
		id := ask(signal.AskInput{Question: "ship it?", SessionID: address})
		fetches := false
		ask(signal.AskInput{Question: "may I?", SessionID: address, Tell: &fetches})
		o.start(alpha, "two")
		if other := o.hook(alpha, wire.HookInput{Thread: "two", MaxBytes: 4096}); len(other.Answers) != 0 {
			t.Errorf("another session is told %+v", other.Answers)
		}
		if w := o.hook(alpha, wire.HookInput{Event: wire.Turn}).Waiting; w.Answers != 1 || w.Questions != 1 {
			t.Errorf("waiting %+v", w)
		}
		first := o.hook(alpha, wire.HookInput{MaxBytes: 1024})
		if len(first.Answers) != 1 || first.Answers[0].QuestionID != id || first.Answers[0].Answer != "yes" ||
			first.Answers[0].With != "local" || first.Answers[0].Again {
			t.Fatalf("told %+v", first.Answers)
		}
		if out := o.hook(alpha, wire.HookInput{MaxBytes: 1024}); len(out.Answers) != 0 {
			t.Errorf("told twice: %+v", out.Answers)
		}
		o.Pass(2 * time.Minute)
		second := o.hook(alpha, wire.HookInput{MaxBytes: 1024})
		if len(second.Answers) != 1 || !second.Answers[0].Again {
			t.Errorf("after two minutes %+v", second.Answers)
		}
		o.hook(alpha, wire.HookInput{Receipt: second.Receipt})
		o.Pass(2 * time.Minute)
		if out := o.hook(alpha, wire.HookInput{MaxBytes: 1024}); len(out.Answers) != 0 {
			t.Errorf("after the receipt %+v", out.Answers)
		}
	})
}

func TestALostClaimIsToldUntilItIsConfirmed(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx, address := t.Context(), o.start(alpha, "one")
		claim := func(title string) string {
			made, err := o.Dispatch.Create(ctx, beta, op.Fill(dispatch.CreateInput{Title: title, Target: "alpha"}))
			id := domaintest.Must(made, err)(t).TaskID
			got, err := o.Dispatch.Claim(ctx, alpha, op.Fill(dispatch.ClaimInput{TaskID: id, SessionID: address}))
			domaintest.Must(got, err)(t)
			return id
		}
		cancelled, completed := claim("to be cancelled"), claim("to be completed")
		if out := o.hook(alpha, wire.HookInput{}); len(out.Claims) != 0 || out.Waiting.Held != 2 {
			t.Errorf("of its own claims it is told %+v", out.Claims)
		}
		if all := o.start(alpha, "one"); all != address {
			t.Fatal(all)
		}
		out := o.hook(alpha, wire.HookInput{Event: wire.Compact})
		if len(out.Claims) != 2 || out.Claims[0].Title == "" || out.Claims[0].LeaseUntil.IsZero() || out.Receipt != "" {
			t.Errorf("after a compaction it is told %+v", out)
		}
		done, err := o.Dispatch.Complete(ctx, alpha, op.Fill(dispatch.CompleteInput{TaskID: completed, SessionID: address}))
		domaintest.Must(done, err)(t)
		gone, err := o.Dispatch.Update(ctx, beta, op.Fill(dispatch.UpdateInput{TaskID: cancelled, Status: "derezzed"}))
		domaintest.Must(gone, err)(t)
		for range 2 {
			out = o.hook(alpha, wire.HookInput{})
			if len(out.Claims) != 1 || out.Receipt == "" || out.Claims[0].TaskID != cancelled || out.Claims[0].Lost != "beta cancelled it" {
				t.Errorf("it is told %+v", out.Claims)
			}
		}
		if out = o.hook(alpha, wire.HookInput{Receipt: out.Receipt}); len(out.Claims) != 0 || out.Receipt != "" {
			t.Errorf("after the receipt %+v", out)
		}
	})
}

func TestAPausedSessionIsToldAndKeepsItsMail(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		address := o.start(alpha, "one")
		o.send(address, "later", "")
		person := domaintest.Human("u")
		_, err := o.Pause.Pause(t.Context(), person, pauses.Input{Scope: identity.PausedAgent, Name: address, Words: "wait"})
		domaintest.Check(t, err)
		o.Pass(time.Minute)
		out := o.hook(alpha, wire.HookInput{MaxBytes: 1024, Doing: "Bash"})
		if out.Pause == nil || out.Pause.Words != "wait" || len(out.Mail) != 0 || out.More != 1 {
			t.Errorf("while it is paused %+v", out)
		}
		live, err := o.Pulse.Live(t.Context(), alpha, 10)
		domaintest.Check(t, err)
		if len(live) != 1 || !live[0].LastHeartbeat.Equal(o.Now()) || live[0].Status != "Bash" {
			t.Errorf("its session is %+v", live)
		}
		if other := o.start(alpha, "two"); o.hook(alpha, wire.HookInput{Thread: "two"}).Pause != nil {
			t.Errorf("%s is paused too", other)
		}
		_, err = o.Pause.Resume(t.Context(), person, pauses.ResumeInput{Scope: identity.PausedAgent, Name: address})
		domaintest.Check(t, err)
		if out := o.hook(alpha, wire.HookInput{MaxBytes: 1024}); out.Pause != nil || texts(out.Mail) != "later" {
			t.Errorf("resumed %+v", out)
		}
	})
}

func TestTheEndOfASessionGivesBackWhatItHolds(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		ctx, address := t.Context(), o.start(alpha, "one")
		made, err := o.Dispatch.Create(ctx, beta, op.Fill(dispatch.CreateInput{Title: "work", Target: "alpha"}))
		id := domaintest.Must(made, err)(t).TaskID
		_, err = o.Dispatch.Claim(ctx, alpha, op.Fill(dispatch.ClaimInput{TaskID: id, SessionID: address}))
		domaintest.Check(t, err)
		o.send(address, "unread", "")
		usage := []wire.Usage{{ID: "m1", Model: "opus", TokensIn: 10, TokensOut: 2, TokensCached: 5, CostUSD: 0.5}, {ID: "m1", TokensIn: 10}}
		o.hook(alpha, wire.HookInput{Event: wire.Turn, Usage: usage})
		o.hook(alpha, wire.HookInput{Event: wire.End, Usage: usage})
		got, err := o.Dispatch.Get(ctx, alpha, dispatch.TaskInput{TaskID: id})
		if domaintest.Must(got, err)(t).Status != "created" {
			t.Errorf("the task is %s", got.Status)
		}
		live, err := o.Pulse.Live(ctx, alpha, 10)
		if domaintest.Check(t, err); len(live) != 0 {
			t.Errorf("live are %+v", live)
		}
		if out := o.hook(alpha, wire.HookInput{Thread: "two", MaxBytes: 1024}); texts(out.Mail) != "unread" {
			t.Errorf("another session reads %+v", out.Mail)
		}
		used, err := o.Ledger.Usage(ctx, alpha, op.Fill(ledger.UsageInput{Records: true}))
		if domaintest.Check(t, err); len(used.Records) != 1 || used.Records[0].TaskID != id || used.Records[0].SessionID != address ||
			used.Records[0].TokensCached != 5 || used.Records[0].Tool != "model:opus" || used.Records[0].Transport != "observed" {
			t.Errorf("the ledger has %+v", used.Records)
		}
		sums, err := o.Ledger.Usage(ctx, alpha, op.Fill(ledger.UsageInput{}))
		if domaintest.Check(t, err); sums.Total.Calls != 0 || sums.Total.TokensIn != 10 || sums.Total.CostUSD != 0.5 {
			t.Errorf("the totals are %+v", sums.Total)
		}
	})
}

func TestAStartTellsWhoElseWorksInTheProject(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		in := wire.HookInput{Event: wire.Start, Project: repository, Branch: "main", Directory: "/src", Host: "mac"}
		o.hook(beta, in)
		o.Pass(time.Minute)
		o.hook(beta, wire.HookInput{Doing: "Bash: make"})
		o.hook(beta, wire.HookInput{Event: wire.Start, Thread: "elsewhere", Project: "github.com/acme/other"})
		_, err := o.Pulse.Create(t.Context(), alpha, op.Fill(pulse.CreateInput{Name: "no client"}))
		domaintest.Check(t, err)
		_, err = o.Files.Reserve(t.Context(), beta, reservation("beta/1", "lib/"))
		domaintest.Check(t, err)
		out := o.hook(alpha, in)
		if len(out.Others) != 1 || out.Others[0].SessionID != "beta/1" || out.Others[0].Doing != "Bash: make" ||
			out.Others[0].Branch != "main" || out.Others[0].State != "working" || !slices.Equal(out.Others[0].Holds, []string{"lib/"}) {
			t.Errorf("others are %+v", out.Others)
		}
		if out.SessionID != "alpha/2" {
			t.Errorf("the number of another session is taken: %s", out.SessionID)
		}
		o.Pass(2 * time.Hour)
		if out := o.hook(alpha, wire.HookInput{Event: wire.Start, Thread: "later", Project: repository}); len(out.Others) != 0 {
			t.Errorf("silent ones are told: %+v", out.Others)
		}
	})
}
