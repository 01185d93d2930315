//go:build unix

package runner_test

import (
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/shared/team"
)

func TestASuccessorAdoptsRunningProcessesAndReportsTheOthers(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Grace = short
	k := p.spawn(t)
	mates := map[string]*mate{}
	for _, id := range []string{"lives", "ends", "dies", "leaves"} {
		s.spawn(id)
		mates[id] = st.next()
		s.runs(id)
	}
	mates["leaves"].do("child")
	orphan := st.next()
	orphan.do("ignore")
	k.kill()
	mates["lives"].lives()
	mates["lives"].do("say through it all")
	for _, id := range []string{"dies", "leaves"} {
		mates[id].tell("exit 0")
		mates[id].gone()
	}
	orphan.lives()

	run := p.run(t)
	for _, id := range []string{"dies", "leaves"} {
		if got := s.end(id); got.State != team.Lost || got.Last.ExitCode != nil ||
			got.Last.Error != "it ended while no runner was running; its exit status is unknown" {
			t.Errorf("%s: got %+v", id, got)
		}
	}
	orphan.gone()
	s.until("the living are told of", func() bool {
		return s.count("running lives") == 2 && s.count("running ends") == 2
	})
	mates["ends"].tell("exit 3")
	if got := s.end("ends"); got.State != team.Exited || got.Last.ExitCode != nil ||
		got.Last.PID != int64(mates["ends"].PID) ||
		got.Last.Error != "the exit status is unknown: the runner that started the process ended before it" {
		t.Errorf("got %+v", got)
	}
	mates["lives"].lives()
	if out := p.output(t, "w-lives"); !strings.HasSuffix(out, "\nthrough it all\n") {
		t.Errorf("the log has %q", out)
	}
	s.kill("lives")
	mates["lives"].gone()
	if got := s.end("lives"); got.State != team.Killed {
		t.Errorf("got %+v", got)
	}
	run.end()
	st.empty()
	if left := p.records(t); len(left) != 0 {
		t.Errorf("the journal has %v", left)
	}
}

func TestAStoppedSuccessorEndsAdoptedProcesses(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Times.Grace = short
	k := p.spawn(t)
	s.spawn("p1")
	m, child := family(t, st, true)
	s.runs("p1")
	k.kill()
	s.leave() // adoption needs no server
	run := p.run(t)
	run.stop()
	s.come()
	if err := run.wait(); err != nil {
		t.Error(err)
	}
	m.gone()
	child.gone()
	if got := s.end("p1"); got.State != team.Killed || got.Last.Error != "its runner was stopped" {
		t.Errorf("got %+v", got)
	}
}

func TestAProcessThatWasClaimedButNotStartedFails(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	var k *killable
	ready := make(chan struct{})
	s.change(func() {
		s.before = func(call string) {
			if call == "claim p1" {
				<-ready
				k.kill() // the claim takes effect, but its answer is lost
			}
		}
	})
	s.spawn("p1")
	k = p.spawn(t)
	close(ready)
	s.until("p1 is claimed", func() bool { return s.processes["p1"].State == team.Starting })
	<-k.done
	if len(p.records(t)) != 0 {
		t.Fatalf("the journal has %v", p.records(t))
	}
	run := p.run(t)
	if got := s.end("p1"); got.State != team.Failed || got.Last.Error != "its runner ended before starting it" {
		t.Errorf("got %+v", got)
	}
	run.end()
	if want := []string{"claim", "failed"}; !slices.Equal(s.said("p1"), want) {
		t.Errorf("got %v, want %v", s.said("p1"), want)
	}
	st.empty()
}

// written are records that a killed runner may have left.
var written = []journal.Record{
	{ProcessID: "claimed", Name: "a"},
	{ProcessID: "started", Name: "b", PID: 1 << 30, StartedAt: "long ago"},
	{ProcessID: "another", Name: "c", PID: 1, StartedAt: "long ago"}, // the PID belongs to another process now
	{ProcessID: "ended", Name: "d", PID: 1 << 30, StartedAt: "long ago",
		End: []byte(`{"state":"exited","pid":1073741824,"started_at":"long ago","exit_code":6}`)},
	{ProcessID: "told", Name: "e", PID: 1 << 30, StartedAt: "long ago", Told: true,
		End: []byte(`{"state":"killed","signal":"SIGTERM"}`)},
	{ProcessID: "known", Name: "f", PID: 1 << 30, StartedAt: "long ago",
		End: []byte(`{"state":"exited","exit_code":0}`)},
	{ProcessID: "failed", Name: "g", End: []byte(`{"state":"failed","error":"no"}`)},
	{ProcessID: "nobodys", Name: "h", End: []byte(`{"state":"failed","error":"no"}`)},
}

// A runner may be killed after each write to its journal.
func TestASuccessorFollowsTheJournal(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	kept, err := journal.Open(p.State)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range written {
		if err := kept.Put(r); err != nil {
			t.Fatal(err)
		}
		if r.ProcessID == "nobodys" {
			continue
		}
		s.spawn(r.ProcessID)
		s.change(func() {
			q := s.processes[r.ProcessID]
			q.State, q.Runner = team.Starting, kept.ID()
			if r.ProcessID == "known" {
				q.State = team.Exited
			}
		})
	}
	// A process that was reported as lost is still held and remains lost.
	s.spawn("lost")
	s.change(func() { s.processes["lost"].State, s.processes["lost"].Runner = team.Lost, kept.ID() })
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	run := p.run(t)
	for id, want := range map[string]string{"claimed": "failed", "started": "running lost", "another": "running lost",
		"ended": "running exited",
		"told":  "killed", "known": "running exited", "failed": "failed"} {
		s.end(id)
		s.until(id+" is told of", func() bool {
			return slices.Contains(s.calls, want[strings.LastIndex(want, " ")+1:]+" "+id)
		})
		if got := strings.Join(s.said(id), " "); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	if got := s.get("ended"); got.Last.ExitCode == nil || *got.Last.ExitCode != 6 {
		t.Errorf("got %+v", got)
	}
	s.until("nobody's is told of", func() bool { return slices.Contains(s.calls, "failed nobodys") })
	run.end()
	if said := s.said("lost"); len(said) != 0 {
		t.Errorf("of the lost was said %v", said)
	}
	if left := p.records(t); len(left) != 0 {
		t.Errorf("the journal has %v", left)
	}
	st.empty()
}
