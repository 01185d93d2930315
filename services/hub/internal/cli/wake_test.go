package cli

import (
	"testing"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
	"parley.internal/shared/task"
)

func TestAgentsAreSparedAfterTheMachineSlept(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := &wake{Now: func() time.Time { return at }}
	for _, c := range []struct {
		pass time.Duration
		want bool
	}{
		{0, false}, {watchEvery, false}, {asleep - time.Second, false}, // awake
		{8 * time.Hour, true}, {watchEvery, true}, {asleep - time.Second, true}, // it slept
		{asleep, true},              // and once more
		{heartbeatWithin - 1, true}, // a long sleep is a sleep
		{-time.Hour, true},          // the clock was set back
		{watchEvery, true}, {0, true},
	} {
		at = at.Add(c.pass)
		if got := w.sparing(); got != c.want {
			t.Errorf("at %s after %s: %t", at, c.pass, got)
		}
	}
	w = &wake{Now: func() time.Time { return at }}
	w.sparing()
	at = at.Add(asleep)
	w.sparing()
	for n := time.Duration(0); n < heartbeatWithin; n += watchEvery {
		if !w.sparing() {
			t.Errorf("%s after the sleep agents are not spared", n)
		}
		at = at.Add(watchEvery)
	}
	if w.sparing() {
		t.Error("agents are spared for too long")
	}
}

// A laptop sleeps for a night while an agent holds a claim. Its lease is over on waking; the agent completes
// the task, and one whose agent is gone goes back to the queue a heartbeat later.
func TestAClaimOutlastsTheSleepOfALaptop(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	db := storetest.SQLite(t, app.Schema())
	a := app.New(db, app.Ports{Now: clock.Now})
	admin, w := store.NewAdmin(db), &wake{Now: clock.Now}
	sweep := func() {
		t.Helper()
		for _, s := range a.Sweeps() {
			domaintest.Must(w.spare(s).Run(t.Context(), admin))(t)
		}
	}
	beta := domaintest.Bound("u", "beta")
	claim := func() (id string, token int64) {
		t.Helper()
		made := domaintest.Must(a.Dispatch.Create(t.Context(), beta, dispatch.CreateInput{Title: "t", Target: "beta",
			Type: task.Work}))(t)
		held := domaintest.Must(a.Dispatch.Claim(t.Context(), beta, dispatch.ClaimInput{TaskID: made.TaskID,
			LeaseSeconds: 900}))(t)
		return made.TaskID, held.ClaimToken
	}
	status := func(id string) task.Status {
		t.Helper()
		return domaintest.Must(a.Dispatch.Get(t.Context(), beta, dispatch.TaskInput{TaskID: id}))(t).Status
	}
	kept, token := claim()
	left, _ := claim()
	sweep()
	clock.Pass(8 * time.Hour)
	sweep()
	if status(kept) != task.Active || status(left) != task.Active {
		t.Fatal("work was taken as soon as the laptop woke")
	}
	clock.Pass(watchEvery)
	domaintest.Must(a.Dispatch.Complete(t.Context(), beta, dispatch.CompleteInput{TaskID: kept, ClaimToken: token,
		Outcome: task.Done}))(t)
	for range int(heartbeatWithin / watchEvery) {
		clock.Pass(watchEvery)
		w.sparing()
	}
	sweep()
	if status(kept) != task.Done || status(left) != task.Created {
		t.Errorf("completed is %s, left is %s", status(kept), status(left))
	}
}
