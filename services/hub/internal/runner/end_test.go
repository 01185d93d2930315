//go:build unix

package runner_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/team"
)

// family starts a process with a child in its group. A stubborn child ignores SIGTERM.
func family(t *testing.T, st *stage, stubborn bool) (m, child *mate) {
	t.Helper()
	m = st.next()
	m.do("child")
	if child = st.next(); child.Group != m.PID {
		t.Fatalf("the child's group is %d, not %d", child.Group, m.PID)
	}
	if stubborn {
		child.do("ignore")
	}
	return m, child
}

func TestAnEndSignalsTheWholeGroupWithSIGTERMFirst(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Grace = fair
	p.run(t)
	s.spawn("p1")
	m, child := family(t, st, true)
	s.kill("p1")
	got := s.end("p1")
	// SIGTERM ended the first process, and only SIGKILL can have ended its child.
	if got.State != team.Killed || got.Last.Signal != "SIGTERM" || got.Last.ExitCode != nil || got.Last.Error != "" {
		t.Errorf("got %+v", got)
	}
	if left := p.records(t); len(left) > 1 {
		t.Errorf("the journal has %v", left)
	}
	m.gone()
	child.gone()
	if want := []string{"claim", "running", "killed"}; !slices.Equal(s.said("p1"), want) {
		t.Errorf("got %v, want %v", s.said("p1"), want)
	}
}

func TestAProcessThatIgnoresSIGTERMIsKilledAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Grace = short
	p.run(t)
	s.spawn("p1")
	m := st.next()
	m.do("ignore")
	s.kill("p1")
	if got := s.end("p1"); got.State != team.Killed || got.Last.Signal != "SIGKILL" {
		t.Errorf("got %+v", got)
	}
	m.gone()
}

func TestAnEndReturnsBeforeTheGracePeriodIfTheGroupHasEnded(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Grace = 2 * patience
	p.run(t)
	s.spawn("p1")
	m, child := family(t, st, false)
	s.kill("p1")
	s.end("p1") // fails after the test's patience
	m.gone()
	child.gone()
}

func TestTheChildrenOfAnExitedProcessAreEnded(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Grace = short
	p.run(t)
	s.spawn("p1")
	m, child := family(t, st, true)
	m.tell("exit 4")
	child.gone()
	if got := s.end("p1"); got.State != team.Exited || *got.Last.ExitCode != 4 {
		t.Errorf("got %+v", got)
	}
}

func TestTheAnswerToAHeartbeatMayEndTheProcess(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Heartbeat = 5 * time.Millisecond
	p.run(t)
	s.change(func() { s.mute = true })
	s.spawn("p1")
	m := st.next()
	s.until("three beats", func() bool { return s.count("running p1") >= 3 })
	s.kill("p1")
	m.gone()
	if got := s.end("p1"); got.State != team.Killed {
		t.Errorf("got %+v", got)
	}
}

func TestAProcessThatTheServerNoLongerKnowsIsEndedAndRemoved(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(s *server){
		"a process": func(s *server) { delete(s.processes, "p1"); s.order = nil },
		"a team":    func(s *server) { s.deleted = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, st := newServer(t), newStage(t)
			p := newPlan(t, s, st)
			p.Times.Grace = short
			p.Times.Heartbeat = 5 * time.Millisecond
			run := p.run(t)
			s.spawn("p1")
			m, child := family(t, st, true)
			s.runs("p1")
			s.change(func() { forget(s) })
			m.gone()
			child.gone()
			if name == "a team" {
				if err := run.wait(); err != nil || !strings.Contains(run.text(), "the team was deleted") {
					t.Errorf("got %v", err)
				}
			}
			run.end()
			if left := p.records(t); len(left) != 0 {
				t.Errorf("the journal has %v", left)
			}
		})
	}
}

func TestAProcessSurvivesALostConnectionAndItsEndIsReportedLater(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.run(t)
	s.spawn("before")
	s.spawn("while")
	a, b := st.next(), st.next()
	if a.Args[1] != "w-before@core" {
		a, b = b, a
	}
	s.runs("before")
	s.runs("while")
	s.leave()
	b.tell("exit 5")
	b.gone()
	a.lives()
	s.spawn("after")
	s.come()
	if got := s.end("while"); got.State != team.Exited || *got.Last.ExitCode != 5 {
		t.Errorf("got %+v", got)
	}
	c := st.next()
	a.lives()
	s.runs("after")
	a.tell("exit 6")
	c.tell("exit 7")
	if got := s.end("before"); *got.Last.ExitCode != 6 {
		t.Errorf("got %+v", got)
	}
	if got := s.end("after"); *got.Last.ExitCode != 7 {
		t.Errorf("got %+v", got)
	}
	for _, id := range []string{"before", "while", "after"} {
		if want := []string{"claim", "running", "exited"}; !slices.Equal(s.said(id), want) {
			t.Errorf("%s: got %v, want %v", id, s.said(id), want)
		}
	}
}

func TestACallIsRepeatedWhenItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	lost := map[string]bool{}
	s.change(func() {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			done := httptest.NewRecorder()
			s.mux.ServeHTTP(done, r)
			s.mu.Lock()
			defer s.mu.Unlock()
			if call := s.calls[len(s.calls)-1]; !lost[call] {
				lost[call] = true
				hangUp(w)
				return true
			}
			w.WriteHeader(done.Code)
			_, _ = done.Body.WriteTo(w)
			return true
		}
	})
	p.run(t)
	s.spawn("p1")
	st.next().tell("exit 8")
	if got := s.end("p1"); got.State != team.Exited || *got.Last.ExitCode != 8 {
		t.Errorf("got %+v", got)
	}
	st.empty()
	if want := []string{"claim", "claim", "running", "running", "exited"}; !slices.Equal(s.said("p1")[:5], want) {
		t.Errorf("got %v, want %v", s.said("p1"), want)
	}
}

func TestAStoppedRunnerEndsItsProcesses(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Grace = fair
	k := p.spawn(t)
	s.spawn("p1")
	m, child := family(t, st, true)
	s.spawn("p2")
	other := st.next()
	s.runs("p1")
	s.runs("p2")
	if code := k.end(); code != 0 {
		t.Errorf("exit %d: %s", code, k.out)
	}
	m.gone()
	child.gone()
	other.gone()
	for _, id := range []string{"p1", "p2"} {
		if got := s.get(id); got.State != team.Killed || got.Last.Signal != "SIGTERM" ||
			got.Last.Error != "its runner was stopped" {
			t.Errorf("got %+v", got)
		}
	}
	if left := p.records(t); len(left) != 0 {
		t.Errorf("the journal has %v", left)
	}
}

func TestARunnerStopsWithoutTheServerAndItsSuccessorReportsTheEnds(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Drain = 50 * time.Millisecond
	run := p.run(t)
	s.spawn("p1")
	s.spawn("p2")
	m, other := st.next(), st.next()
	s.runs("p1")
	s.runs("p2")
	s.leave()
	if m.Args[1] != "w-p1@core" {
		m, other = other, m
	}
	m.tell("exit 9")
	m.gone()
	run.until(`msg="a process ended" member=w-p1`)
	run.stop()
	if err := run.wait(); err != nil {
		t.Error(err)
	}
	other.gone()
	if left := p.records(t); len(left) != 2 {
		t.Errorf("the journal has %v", left)
	}
	s.come()
	p.Times = brisk
	run = p.run(t)
	if got := s.end("p1"); got.State != team.Exited || *got.Last.ExitCode != 9 || got.Last.PID != int64(m.PID) {
		t.Errorf("got %+v", got)
	}
	if got := s.end("p2"); got.State != team.Killed || got.Last.Signal != "SIGTERM" {
		t.Errorf("got %+v", got)
	}
	// A report whose answer was lost when the server left is repeated, and one that the first runner gave up may reach the
	// server once it is back, before that of its successor.
	for id, state := range map[string]string{"p1": "exited", "p2": "killed"} {
		said := s.said(id)
		if reports := slices.Compact(slices.Clone(said[1:])); said[0] != "claim" || !slices.Equal(reports, []string{"running", state}) {
			t.Errorf("%s: got %v", id, said)
		}
	}
	run.end()
	if left := p.records(t); len(left) != 0 {
		t.Errorf("the journal has %v", left)
	}
	st.empty()
}

func TestARunnerStopsIfTheServerNeverAnswers(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	s.leave()
	run := p.run(t)
	run.stop()
	if err := run.wait(); err != nil {
		t.Error(err)
	}
}

func TestAKeyThatBecomesInvalidEndsNoProcess(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Heartbeat = 5 * time.Millisecond
	p.run(t)
	s.spawn("p1")
	m := st.next()
	s.runs("p1")
	var refused atomic.Int32
	s.change(func() {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			refuse(w, 401, "UNAUTHENTICATED", "this key is not known")
			if refused.Add(1) >= 5 {
				s.change(func() { s.fault = nil })
			}
			return true
		}
	})
	s.until("the key is good again", func() bool { return s.fault == nil })
	m.lives()
	m.tell("exit 2")
	if got := s.end("p1"); *got.Last.ExitCode != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestAProcessWhoseEndIsRequestedBeforeItsStartIsNotStarted(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	s.change(func() {
		s.before = func(call string) {
			if call == "claim p1" {
				s.change(func() { s.processes["p1"].Wanted = team.WantEnded })
			}
		}
	})
	p.run(t)
	s.spawn("p1")
	if got := s.end("p1"); got.State != team.Killed || got.Last.PID != 0 ||
		got.Last.Error != "its end was requested" {
		t.Errorf("got %+v", got)
	}
	st.empty()
	if _, err := os.Stat(p.State + "/logs/w-p1.log"); err == nil {
		t.Error("it has a log")
	}
}
