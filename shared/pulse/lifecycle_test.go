package pulse

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/task"
)

// allowed lists the moves, written independently of the table of the package.
const allowed = `created>active active>blocked active>done active>failed active>derezzed
blocked>active blocked>done blocked>failed blocked>derezzed
done>derezzed done>active failed>derezzed failed>active derezzed>active`

func TestASessionAllowsExactlyItsMoves(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for m := range strings.FieldsSeq(allowed) {
		want[m] = true
	}
	for _, from := range task.Statuses() {
		for _, to := range task.Statuses() {
			err := Move(from, to)
			if ok := from == to || want[string(from)+">"+string(to)]; ok != (err == nil) {
				t.Errorf("%s → %s: %v", from, to, err)
			}
			if err != nil && (!fault.Is(err, fault.Precondition) ||
				err.Error() != "Invalid transition for session: "+string(from)+" → "+string(to)) {
				t.Errorf("the fault is %v", err)
			}
		}
	}
}

func TestEveryStateHasALifecycleStatus(t *testing.T) {
	t.Parallel()
	for state, want := range map[State]task.Status{Working: task.Active, Blocked: task.Blocked, Pinned: task.Blocked,
		Complete: task.Done} {
		if got := state.Lifecycle(); got != want {
			t.Errorf("%s is %s, not %s", state, got, want)
		}
	}
}

func TestASessionEntersEveryStateFromEveryStatus(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := t0.Add(time.Hour)
	for _, from := range []task.Status{task.Created, task.Active, task.Blocked, task.Done, task.Failed, task.Derezzed} {
		for _, state := range []State{Working, Blocked, Pinned, Complete} {
			s := Session{Lifecycle: from, Life: 1}
			if !s.Live() && from != task.Created {
				s.EndedAt = t0
			}
			if from == task.Derezzed {
				s.Archived, s.LastHeartbeat, s.PurgeAt = true, t0, t0
			}
			if err := s.enter(state, now); err != nil {
				t.Errorf("%s, %s: %v", from, state, err)
			}
			want := Session{State: state, Lifecycle: state.Lifecycle(), Life: 1}
			if from == task.Derezzed {
				want.Life = 2
			}
			if state == Complete {
				want.EndedAt = now
			}
			if from == task.Done && state == Complete { // the time of its end stays
				want.EndedAt = t0
			}
			if s != want {
				t.Errorf("%s, %s: %+v, want %+v", from, state, s, want)
			}
		}
	}
}

func TestNoticeIDsDifferBySessionLifeAndTask(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, id := range []string{noticeID("s", 1, "t"), noticeID("s", 2, "t"), noticeID("s", 1, "u"),
		noticeID("s2", 1, "t"), noticeID("s", 12, "t"), noticeID("s", 1, "2t")} {
		if seen[id] || len(id) > 100 {
			t.Errorf("%q", id)
		}
		seen[id] = true
	}
	if again := noticeID("s", 1, "t"); !seen[again] {
		t.Errorf("then %q", again)
	}
}
