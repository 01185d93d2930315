package pulse

import (
	"testing"

	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// The test covers every pair of states, live and ended.
func TestASessionSendsAPushWhenItIsBlockedFailsOrIsComplete(t *testing.T) {
	t.Parallel()
	states := []State{Working, Blocked, Complete, Pinned}
	lives := []task.Status{task.Created, task.Active, task.Blocked, task.Done, task.Failed, task.Derezzed}
	fields := func(v Session) store.Fields {
		return store.Fields{"state": string(v.State), "lifecycle": string(v.Lifecycle)}
	}
	for _, a := range states {
		for _, b := range states {
			for _, from := range lives {
				for _, to := range lives {
					before, after := Session{State: a, Lifecycle: from}, Session{State: b, Lifecycle: to,
						Name: "my\tsession", Status: "no disk", ProgramID: "alpha"}
					want := ""
					switch {
					case to == task.Failed && from != task.Failed:
						want = "my session is failed"
					case b == Complete && a != Complete:
						want = "my session is complete"
					case b == Blocked && a != Blocked && (to == task.Active || to == task.Blocked):
						want = "my session is blocked"
					}
					how := halt(store.Updated, fields(before), fields(after))
					ok, n := how != "", halted("s", &after, how)
					if ok != (want != "") || ok && n.Title != want {
						t.Errorf("%s %s → %s %s: %q, want %q", a, from, b, to, n.Title, want)
					}
					if ok && (n.SessionID != "s" || n.TaskID != "" || n.Type != "session" || n.Channel != push.Tasks ||
						n.Body != "no disk") {
						t.Errorf("it says %+v", n)
					}
				}
			}
		}
	}
	beat := fields(Session{State: Working, Lifecycle: task.Active})
	if halt(store.Updated, beat, beat) != "" || halt(store.Created, nil, fields(Session{State: Blocked})) != "" {
		t.Error("an event without a push is kept")
	}
}
