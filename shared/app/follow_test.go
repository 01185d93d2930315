package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domain"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/pulse"
	"parley.internal/shared/push"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/task"
)

// phone is a sender that records the notifications it was given.
type phone struct {
	mu     sync.Mutex
	pushes []string
	came   chan struct{}
	err    error
}

func newPhone() *phone { return &phone{came: make(chan struct{}, 100)} }

// Send implements push.Sender.
func (p *phone) Send(_ context.Context, n push.Notice, tokens []string) ([]push.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.came <- struct{}{}
	if p.err != nil {
		return nil, p.err
	}
	p.pushes = append(p.pushes, fmt.Sprintf("%s: %s %s (%d)", n.Title, n.Body, n.Key, len(tokens)))
	return make([]push.Result, len(tokens)), nil
}

func (p *phone) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *phone) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(slices.Values(p.pushes))
}

// laptop is an app over SQLite, as on a laptop.
type laptop struct {
	*App
	*clock
	t     *testing.T
	file  *sqlite.Driver
	phone *phone
}

func openLaptop(t *testing.T, file string, clock *clock) *laptop {
	t.Helper()
	d, err := sqlite.Open(t.Context(), file, Schema())
	if err != nil {
		t.Fatal(err)
	}
	p := newPhone()
	l := &laptop{clock: clock, t: t, file: d, phone: p}
	l.App = New(store.New(d, Schema()), Ports{Now: clock.Now, NewID: clock.NewID, Sender: p})
	t.Cleanup(func() { _ = l.DB.Close() })
	return l
}

// follow runs the reactions until stop is called.
func (l *laptop) follow() (stop func()) {
	l.t.Helper()
	f, err := l.Follow(l.t.Context(), l.file, slog.New(slog.DiscardHandler))
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (p *phone) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-p.came:
		case <-t.Context().Done():
			t.Fatal("no push was sent")
		}
	}
}

// scene makes one change of each kind that sends a notification, and some that send none. It returns the number of
// notifications.
func scene(t *testing.T, a *App, clock *clock) int {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		clock.Pass(time.Second)
	}
	_, err := a.Signal.Register(ctx, domaintest.Human("u"),
		op.Fill(signal.DeviceInput{Token: "phone", Platform: "android"}))
	ok(err)
	_, err = a.Signal.Ask(ctx, alpha, op.Fill(signal.AskInput{Question: "Ship it?"}))
	ok(err)
	_, err = a.Signal.Alert(ctx, alpha, op.Fill(signal.AlertInput{Message: "it burns", AlertType: "error"}))
	ok(err)
	_, err = a.Dispatch.Create(ctx, alpha, op.Fill(dispatch.CreateInput{
		Title:    "for you",
		Target:   "user",
		Priority: task.High,
	}))
	ok(err)
	made, err := a.Dispatch.Create(
		ctx,
		alpha,
		op.Fill(dispatch.CreateInput{Title: "for beta", Target: "beta"}),
	) // sends no push
	ok(err)
	claim, err := a.Dispatch.Claim(ctx, beta, op.Fill(dispatch.ClaimInput{TaskID: made.TaskID}))
	ok(err)
	_, err = a.Dispatch.Update(ctx, beta, op.Fill(dispatch.UpdateInput{
		TaskID:     made.TaskID,
		Status:     task.Blocked,
		Note:       "no disk",
		ClaimToken: claim.ClaimToken,
	}))
	ok(err)
	_, err = a.Pulse.Create(ctx, beta, op.Fill(pulse.CreateInput{SessionID: "beta.1", Name: "beta's"}))
	ok(err)
	_, err = a.Pulse.Update(ctx, beta, op.Fill(pulse.UpdateInput{SessionID: "beta.1", State: pulse.Blocked}))
	ok(err)
	_, err = a.Pulse.Update(
		ctx,
		beta,
		op.Fill(pulse.UpdateInput{SessionID: "beta.1", LastHeartbeat: true}),
	) // sends no push
	ok(err)
	return 5
}

func TestTheFollowerSendsNotifications(t *testing.T) {
	t.Parallel()
	l := openLaptop(t, filepath.Join(t.TempDir(), "p.db"), newClock())
	stop := l.follow()
	l.phone.await(t, scene(t, l.App, l.clock))
	stop()
	heard := strings.Join(l.phone.heard(), "\n")
	for _, want := range []string{
		"alpha needs your answer: Ship it?", "Error from alpha: it burns", "New task from alpha: for you",
		"for beta is blocked: no disk", "beta's is blocked",
	} {
		if strings.Count(heard, want) != 1 {
			t.Errorf("%q was sent %d times in\n%s", want, strings.Count(heard, want), heard)
		}
	}
}

// The change feed and the triggers of the cloud deliver the same events in different forms. The notifications and the
// documents that result from them are the same.
func TestTheFeedAndTriggersHaveTheSameEffects(t *testing.T) {
	t.Parallel()
	clock := newClock()
	l := openLaptop(t, filepath.Join(t.TempDir(), "p.db"), clock)
	// The feed keeps every change for the triggers; the follower reads them later.
	all, err := l.file.Feed(t.Context(), store.Follow{Collection: "tasks"}, store.Follow{Collection: "sessions"})
	if err != nil {
		t.Fatal(err)
	}
	n := scene(t, l.App, clock)
	events, err := all.Next(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	// The same documents in another store, with events as triggers deliver them: to each function of their
	// collection and kind, twice, and in random order.
	cloud := openLaptop(t, filepath.Join(t.TempDir(), "p.db"), newClock())
	scene(t, cloud.App, cloud.clock)
	slices.Reverse(events)
	for range 2 {
		for _, e := range events {
			for _, r := range cloud.Reactions() {
				if e.Ref.Coll != r.Collection || e.Kind != r.Kind {
					continue
				}
				s, err := r.Handle(t.Context(), e, clock.Now(), slog.New(slog.DiscardHandler))
				if s != Handled || err != nil {
					t.Errorf("%s of %s: %s, %v", r.Name, e.ID, s, err)
				}
			}
		}
	}
	stop := l.follow()
	l.phone.await(t, n)
	stop()
	if here, there := l.phone.heard(), cloud.phone.heard(); !slices.Equal(here, there) || len(here) != n {
		t.Errorf("the feed sent\n%s\nthe triggers sent\n%s", strings.Join(here, "\n"), strings.Join(there, "\n"))
	}
	here, there := marks(t, l.App, events), marks(t, cloud.App, events)
	if here != there || strings.Count(here, "true") != n {
		t.Errorf("the feed left\n%s\nthe triggers\n%s", here, there)
	}
}

// marks returns the events for which a notification was sent.
func marks(t *testing.T, a *App, events []store.Event) string {
	t.Helper()
	var out strings.Builder
	for _, e := range events {
		told, err := a.Signal.Told(t.Context(), e.Ref.User, e.ID)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, e.ID, told)
	}
	return out.String()
}

func TestUnhandledEventsAreHandledAfterARestart(t *testing.T) {
	t.Parallel()
	clock, file := newClock(), filepath.Join(t.TempDir(), "p.db")
	l := openLaptop(t, file, clock)
	stop := l.follow()
	l.phone.fail(fault.New(fault.Unavailable, "down"))
	if _, err := l.Signal.Ask(t.Context(), alpha, op.Fill(signal.AskInput{Question: "Ship it?"})); err != nil {
		t.Fatal(err)
	}
	l.phone.await(t, 1) // it was tried, and comes again
	stop()
	// No follower runs now.
	if _, err := l.Signal.Ask(t.Context(), alpha, op.Fill(signal.AskInput{Question: "And now?"})); err != nil {
		t.Fatal(err)
	}
	if err := l.DB.Close(); err != nil {
		t.Fatal(err)
	}
	next := openLaptop(t, file, clock)
	stop = next.follow()
	next.phone.await(t, 2)
	stop()
	heard := strings.Join(next.phone.heard(), "\n")
	if !strings.Contains(heard, "Ship it?") || !strings.Contains(heard, "And now?") || len(next.phone.heard()) != 2 {
		t.Errorf("the pushes are\n%s", heard)
	}
	third := openLaptop(t, file, clock)
	follower, err := third.Follow(t.Context(), third.file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if left, err := follower.feed.Next(over, 0, 10); len(left) != 0 {
		t.Errorf("left in the feed are %+v, %v", left, err)
	}
}

// An event that cannot be delivered does not delay the others, and is tried again.
func TestAFailedEventDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	l := openLaptop(t, filepath.Join(t.TempDir(), "p.db"), newClock())
	stop := l.follow()
	defer stop()
	l.phone.fail(fault.New(fault.Unavailable, "down"))
	if _, err := l.Signal.Ask(t.Context(), alpha, op.Fill(signal.AskInput{Question: "first?"})); err != nil {
		t.Fatal(err)
	}
	l.phone.await(t, 1)
	l.phone.fail(nil)
	if _, err := l.Signal.Ask(t.Context(), alpha, op.Fill(signal.AskInput{Question: "second?"})); err != nil {
		t.Fatal(err)
	}
	l.phone.await(t, 1)
	if heard := l.phone.heard(); len(heard) != 1 || !strings.Contains(heard[0], "second?") {
		t.Errorf("the pushes are %v", heard)
	}
	l.Pass(time.Minute)
	// A change wakes the follower.
	if _, err := l.Signal.Ask(t.Context(), alpha, op.Fill(signal.AskInput{Question: "third?"})); err != nil {
		t.Fatal(err)
	}
	l.phone.await(t, 2)
	if heard := strings.Join(l.phone.heard(), "\n"); !strings.Contains(heard, "first?") {
		t.Errorf("the pushes are\n%s", heard)
	}
}

func TestAnEventIsHandledDroppedOrRedelivered(t *testing.T) {
	t.Parallel()
	now := domaintest.Start
	e := store.Event{
		ID:   "e",
		At:   now.Add(-time.Hour),
		Kind: store.Created,
		Ref:  store.Ref{User: "u", Coll: "tasks", ID: "t"},
	}
	for name, c := range map[string]struct {
		concerns bool
		err      error
		age      time.Duration
		want     Outcome
		runs     bool
		logs     string
	}{
		"all is well":         {true, nil, time.Hour, Handled, true, ""},
		"nobody's":            {false, nil, time.Minute, Handled, false, ""},
		"just too old":        {true, nil, time.Hour - 1, Dropped, false, "it is too old"},
		"contention":          {true, fault.New(fault.Conflict, "busy"), time.Hour, Redeliver, true, "comes again"},
		"down":                {true, fault.New(fault.Unavailable, "down"), time.Hour, Redeliver, true, "comes again"},
		"a bug":               {true, fmt.Errorf("nil"), time.Hour, Redeliver, true, "comes again"},
		"what nothing mends":  {true, fault.New(fault.Invalid, "no document"), time.Hour, Dropped, true, "dropped"},
		"what is not allowed": {true, fault.New(fault.Forbidden, "no"), time.Hour, Dropped, true, "dropped"},
	} {
		var log strings.Builder
		ran := false
		r := Reaction{domain.Reaction{Name: "OnX", Collection: "tasks", Kind: store.Created, MaxAge: c.age,
			Concerns: func(store.EventKind, store.Fields, store.Fields) bool { return c.concerns },
			Run:      func(context.Context, store.Event) error { ran = true; return c.err }}}
		got, err := r.Handle(t.Context(), e, now, slog.New(slog.NewTextHandler(&log, nil)))
		if got != c.want || ran != c.runs || err != c.err && c.runs {
			t.Errorf("%s: %s, %v, ran %t", name, got, err, ran)
		}
		if !strings.Contains(log.String(), c.logs) || (c.logs == "") != (log.Len() == 0) ||
			(c.logs != "" && !strings.Contains(log.String(), "event=e")) {
			t.Errorf("%s: the log says %q", name, log.String())
		}
	}
}
