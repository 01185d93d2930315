//go:build unix

package runner_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"parley.internal/services/hub/internal/executabletest"
	"parley.internal/shared/team"
)

func TestAProcessIsClaimedRecordedAndReportedInThisOrder(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.run(t)
	s.spawn("p1", func(p *team.Process) { p.Cwd = "" })
	m := st.next()
	rec := p.records(t)["p1"]
	if rec.PID != m.PID || rec.StartedAt == "" || m.Group != m.PID {
		t.Errorf("it runs as %d of the group %d, and the journal has %+v", m.PID, m.Group, rec)
	}
	s.runs("p1")
	if got := s.get("p1"); got.Last.PID != int64(m.PID) || got.Last.StartedAt != rec.StartedAt ||
		got.Last.LogFile != filepath.Join(p.State, "logs", "w-p1.log") {
		t.Errorf("the server knows %+v", got)
	}
	if m.Dir != p.Root || m.Input != "" || !slices.Equal(m.Args, []string{"mate", "w-p1@core"}) {
		t.Errorf("got %+v", m.hello)
	}
	m.do("say to the one")
	m.do("shout to the other")
	m.tell("exit 7")
	got := s.end("p1")
	if got.State != team.Exited || got.Last.ExitCode == nil || *got.Last.ExitCode != 7 || got.Last.Signal != "" ||
		got.Last.Error != "its last lines:\nto the one\nto the other" || got.Last.PID != int64(m.PID) {
		t.Errorf("got %+v", got)
	}
	if want := []string{"claim", "running", "exited"}; !slices.Equal(s.said("p1"), want) {
		t.Errorf("got %v, want %v", s.said("p1"), want)
	}
	out := p.output(t, "w-p1")
	header, rest, _ := strings.Cut(out, "\n")
	if !strings.HasPrefix(header, "--- ") || !strings.HasSuffix(header, ` "w-p1@core" begins, process p1`) ||
		rest != "to the one\nto the other\n" {
		t.Errorf("the log has %q", out)
	}
	if info, err := os.Stat(filepath.Join(p.State, "logs", "w-p1.log")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// The next process of the same name appends to the log.
	s.spawn("p2", func(p *team.Process) { p.Name = "w-p1" })
	st.next().tell("exit 0")
	if got := s.end("p2"); *got.Last.ExitCode != 0 || !strings.HasPrefix(p.output(t, "w-p1"), out+"--- ") {
		t.Errorf("%+v, %q", got, p.output(t, "w-p1"))
	}
}

func TestTheSignalThatEndedAProcessIsReported(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	newPlan(t, s, st).run(t)
	s.spawn("p1")
	st.next().tell("die")
	if got := s.end("p1"); got.State != team.Exited || got.Last.ExitCode != nil || got.Last.Signal != "SIGKILL" {
		t.Errorf("got %+v", got)
	}
}

func TestValuesFromTheServerAreArgumentsAndReachNoShell(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Command = strings.Replace(p.Command, `"{agent_id}"`,
		`"{agent_id}", "--model={model}", "{agent_type}", ["--color", "{color}"], "{cwd}", `+
			`["{plan_mode_required?}", "--plan-mode-required"]`, 1)
	evil := "$(touch x);`touch x`\n| touch x & {model} \"'\\ *"
	dir := "a $(touch x);`touch x`"
	if err := os.Mkdir(filepath.Join(p.Root, dir), 0o700); err != nil {
		t.Fatal(err)
	}
	p.run(t)
	s.spawn("p1", func(p *team.Process) {
		p.AgentID, p.Model, p.AgentType, p.Color, p.Cwd, p.PlanModeRequired = evil, evil, evil, "", dir, true
	})
	m := st.next()
	if want := []string{"mate", evil, "--model=" + evil, evil, filepath.Join(p.Root, dir),
		"--plan-mode-required"}; !slices.Equal(m.Args, want) {
		t.Errorf("got %q, want %q", m.Args, want)
	}
	if m.Dir != filepath.Join(p.Root, dir) {
		t.Errorf("it works in %q", m.Dir)
	}
	m.tell("exit 0")
	s.end("p1")
	for _, dir := range []string{p.Root, m.Dir, "."} {
		if _, err := os.Lstat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("a shell read it in %s", dir)
		}
	}
}

func TestAProcessThatCannotBeStartedIsReportedAsFailed(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Command = strings.Replace(p.Command, `"{agent_id}"`, `"{agent_id}", "{model}"`, 1)
	for name, target := range map[string]string{"out": "/", "up": "..", "inside": filepath.Join(p.Root, "dir")} {
		if err := os.Symlink(target, filepath.Join(p.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(p.Root, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(t)
	for id, c := range map[string]struct{ cwd, model, words string }{
		"absolute": {"/", "m", `the working directory "/" must be at or below the root ` + p.Root},
		"beside":   {p.Root + "-not", "m", "cannot enter the working directory"},
		"dots":     {"dir/../..", "m", "must be at or below"},
		"link":     {"out", "m", `the working directory "out" must be at or below`},
		"deep":     {"out/tmp", "m", "must be at or below"},
		"up":       {"up", "m", "must be at or below"},
		"missing":  {"none", "m", "no such file or directory"},
		"file":     {"file", "m", "must be a directory"},
		"nul":      {"a\x00b", "m", "NUL"},
		"option":   {"", "--yes", `the value of {model}, "--yes", must not begin with -`},
	} {
		s.spawn(id, func(p *team.Process) { p.Cwd, p.Model = c.cwd, c.model })
		got := s.end(id)
		if got.State != team.Failed || !strings.Contains(got.Last.Error, c.words) || got.Last.PID != 0 {
			t.Errorf("%s: got %+v, want %q", id, got, c.words)
		}
		if want := []string{"claim", "failed"}; !slices.Equal(s.said(id), want) {
			t.Errorf("%s: got %v, want %v", id, s.said(id), want)
		}
	}
	st.empty()
	s.spawn("good", func(q *team.Process) { q.Cwd, q.Model = "inside", "m" })
	if m := st.next(); m.Dir != filepath.Join(p.Root, "dir") {
		t.Errorf("it works in %q", m.Dir)
	}
}

func TestAMissingCommandIsReportedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Command, p.Env = `{}`, []string{"PATH=" + p.Root + ":relative:"}
	s.spawn("p1")
	if err := p.run(t).wait(); err == nil || !strings.HasPrefix(err.Error(),
		"Could not find 'claude' binary on PATH. Install Claude Code or ensure it is in your PATH. Codex is not there") {
		t.Errorf("at the start: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(p.Root, "tool")
	if err := os.Symlink(self, tool); err != nil {
		t.Fatal(err)
	}
	p.Command = `{"command": ["tool", "mate"], "env": {"` + stageVariable + `": "` + st.addr + `"}}`
	p.run(t)
	st.next().tell("exit 0")
	s.end("p1")
	if err := os.Remove(tool); err != nil {
		t.Fatal(err)
	}
	s.spawn("p2")
	if got := s.end("p2"); got.State != team.Failed || got.Last.Error != "Could not find 'tool' binary on PATH." ||
		!slices.Equal(s.said("p2"), []string{"claim", "failed"}) {
		t.Errorf("got %+v after %v", got, s.said("p2"))
	}
	// A file that is not a program fails at the last moment and is never reported as running.
	executabletest.Write(t, tool, []byte("#!/no/such/interpreter\n"))
	s.spawn("p3")
	if got := s.end("p3"); got.State != team.Failed || !strings.HasPrefix(got.Last.Error, "cannot run "+tool+": ") ||
		!slices.Equal(s.said("p3"), []string{"claim", "failed"}) {
		t.Errorf("got %+v after %v", got, s.said("p3"))
	}
}

func TestWithAFullDiskNothingStartsAndTheErrorIsReported(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Fatal("this system has no disk that is always full; say here how it gets one: ", err)
	}
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.run(t)
	for id, full := range map[string]string{
		"log":     filepath.Join(p.State, "logs", "w-log.log"),
		"journal": filepath.Join(p.State, "processes", "journal.json.new"),
	} {
		if err := os.Symlink("/dev/full", full); err != nil {
			t.Fatal(err)
		}
		s.spawn(id)
		got := s.end(id)
		if got.State != team.Failed || !strings.Contains(got.Last.Error, "cannot write the "+id) ||
			!strings.Contains(got.Last.Error, "no space left on device") {
			t.Errorf("%s: got %+v", id, got)
		}
		if want := []string{"claim", "failed"}; !slices.Equal(s.said(id), want) {
			t.Errorf("%s: got %v, want %v", id, s.said(id), want)
		}
	}
	st.empty()
	if _, err := os.Stat(filepath.Join(p.State, "logs", "w-journal.log")); err == nil {
		t.Error("a process was prepared that could not be written down")
	}
}

func TestAProcessSurvivesAJournalThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.run(t)
	s.spawn("p1")
	m := st.next()
	s.runs("p1")
	dir := filepath.Join(p.State, "processes")
	if err := errors.Join(os.Rename(dir, dir+"-away"), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.spawn("p2")
	if got := s.end("p2"); got.State != team.Failed || !strings.Contains(got.Last.Error, "cannot write the journal: ") {
		t.Errorf("got %+v", got)
	}
	m.lives()
	m.tell("exit 3")
	if got := s.end("p1"); got.State != team.Exited || *got.Last.ExitCode != 3 {
		t.Errorf("got %+v", got)
	}
	st.empty()
}

func TestTwoRunnersNeverStartTheSameProcess(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	var runners []*running
	for range 3 {
		runners = append(runners, newPlan(t, s, st).run(t))
	}
	const n = 24
	began := map[string]int{}
	for i := range n {
		s.spawn("p" + string(rune('a'+i)))
	}
	for range n {
		m := st.next()
		began[m.Args[1]]++
		m.tell("exit 0")
	}
	for i := range n {
		s.end("p" + string(rune('a'+i)))
	}
	for _, x := range runners {
		x.end()
	}
	st.empty()
	for id, times := range began {
		if times != 1 {
			t.Errorf("%s began %d times", id, times)
		}
	}
}

func TestRunReturnsAnErrorIfTheRunnerCannotWork(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	bad := p
	bad.Key, bad.State = "parley_another", p.State+"2"
	if err := bad.run(t).wait(); err == nil ||
		!strings.Contains(err.Error(), "refuses the key of the variable PARLEY_KEY") ||
		!strings.Contains(err.Error(), "`parley key create") || strings.Contains(err.Error(), bad.Key) {
		t.Errorf("a bad key: %v", err)
	}
	s.change(func() { s.deleted = true })
	if err := p.run(t).wait(); err == nil ||
		!strings.Contains(err.Error(), "Team core does not exist; make it with team_create") {
		t.Errorf("no team: %v", err)
	}
}

func TestAnUnexpectedAnswerAtTheStartIsRetried(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	var asked atomic.Int32
	s.change(func() {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			switch asked.Add(1) {
			case 1:
				http.Error(w, "<html>", 404)
			case 2:
				w.Header().Set("Retry-After", "0")
				refuse(w, 503, "UNAVAILABLE", "not now")
			case 3:
				refuse(w, 429, "RESOURCE_EXHAUSTED", "not so fast")
			case 4:
				refuse(w, 404, "NOT_FOUND", "there is no such route; /openapi.json lists them")
			case 5:
				_, _ = w.Write([]byte(`{"success":true,"data":7}`))
			default:
				return false
			}
			return true
		}
	})
	newPlan(t, s, st).run(t)
	s.spawn("p1")
	st.next().tell("exit 0")
	s.end("p1")
}
