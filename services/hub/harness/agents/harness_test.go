package agents_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley.internal/services/hub/harness/agents"
	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/harness/program"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/keys"
	"parley.internal/shared/task"
	"parley.internal/shared/team"
)

// patience is the time that a test waits for an expected event.
const patience = 90 * time.Second

// parley is the program of the hub, which is built once.
var parley string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "parley-agents-")
	if err == nil {
		parley = filepath.Join(dir, "parley")
		err = program.BuildPatient(context.Background(), parley)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	hubtest.Main(m, func() { _ = os.RemoveAll(dir) })
}

// clients are the names of the clients.
var clients = []string{"claude", "codex"}

// use is a step that calls a tool of Parley, by the name that the client has for it.
func use(client, tool string, input any) fakemodel.Step {
	if client == "codex" {
		return fakemodel.Step{Calls: []fakemodel.Call{{Tool: tool, Namespace: "mcp__parley", Input: input}}}
	}
	return fakemodel.Use("mcp__parley__"+tool, input)
}

// stage is a hub with a person and an agent alpha, a model, and a machine with the clients.
type stage struct {
	*testing.T
	*hubtest.User
	model *fakemodel.Server
	home  *agents.Home
	state string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	model := fakemodel.New()
	t.Cleanup(model.Close)
	return &stage{T: t, User: hubtest.NewUser(t, hubtest.Options{}), model: model, home: agents.NewHome(t, model),
		state: filepath.Join(t.TempDir(), "state")}
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(p)
}

// running is a process of parley.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *output
	exited chan struct{}
}

// run starts a command of parley on the machine, with a key.
func (s *stage) run(key string, args ...string) *running {
	s.Helper()
	r := &running{t: s.T, cmd: exec.Command(parley, args...), out: &output{more: make(chan struct{})}, exited: make(chan struct{})}
	r.cmd.Env = append(s.home.Env, "PARLEY_URL="+s.Hub.URL, "PARLEY_KEY="+key, "PARLEY_KEYRING=off")
	r.cmd.Stdout, r.cmd.Stderr, r.cmd.Dir = r.out, r.out, s.home.Work
	if err := r.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.exited) }()
	s.Cleanup(func() {
		r.stop(syscall.SIGTERM)
		if s.Failed() {
			s.Logf("it logged:\n%s", r.text())
		}
	})
	return r
}

func (r *running) text() string {
	r.out.mu.Lock()
	defer r.out.mu.Unlock()
	return r.out.text.String()
}

// stop sends a signal and waits for the end.
func (r *running) stop(sig os.Signal) {
	r.t.Helper()
	_ = r.cmd.Process.Signal(sig) // it may have ended
	select {
	case <-r.exited:
	case <-time.After(patience):
		_ = r.cmd.Process.Kill()
		r.t.Errorf("it does not end on %v", sig)
	}
}

// logged waits until the log matches a pattern, and returns its first group.
func (r *running) logged(pattern string) string {
	r.t.Helper()
	re, over := regexp.MustCompile(pattern), time.After(patience)
	for {
		r.out.mu.Lock()
		found, more := re.FindStringSubmatch(r.out.text.String()), r.out.more
		r.out.mu.Unlock()
		if found != nil {
			return found[len(found)-1]
		}
		select {
		case <-more:
		case <-over:
			r.t.Fatalf("it does not log %s:\n%s", pattern, r.text())
		}
	}
}

// reads waits for a request to the model whose conversation holds the texts.
func (s *stage) reads(texts ...string) fakemodel.Request {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	r, err := s.model.Await(ctx, fakemodel.Reads(texts...))
	if err != nil {
		for _, r := range s.model.Requests() {
			s.Logf("%d %s", r.Number, r.Text[max(0, len(r.Text)-1500):])
		}
		s.Fatalf("the model does not read %q", texts)
	}
	return r
}

// crew makes the team crew, led by alpha, and starts its runner.
func (s *stage) crew(args ...string) *running {
	s.Helper()
	if _, err := s.Hub.Client(s.Agent).TeamCreate(s.Context(), team.CreateInput{TeamName: "crew"}); err != nil {
		s.Fatal(err)
	}
	key := s.Hub.Key("u", keys.CreateInput{Scopes: []string{"runner"}, Team: "crew"})
	return s.run(key, append([]string{"runner", "--team", "crew", "--root", s.home.Work, "--state", s.state}, args...)...)
}

// assign makes a task of the team that waits in the inbox of a member that is not there yet.
func (s *stage) assign(name, subject string) {
	s.Helper()
	lead := s.Hub.Client(s.Agent)
	made, err := lead.TeamTaskCreate(s.Context(), team.CreateTaskInput{TeamName: "crew", Subject: subject, Description: subject})
	if err == nil {
		_, err = lead.TeamTaskUpdate(s.Context(), team.UpdateTaskInput{TeamName: "crew", TaskID: made.ID, Owner: &name})
	}
	if err != nil {
		s.Fatal(err)
	}
}

// spawn asks for a member.
func (s *stage) spawn(name, prompt string) {
	s.Helper()
	if _, err := s.Hub.Client(s.Agent).TeamSpawnTeammate(s.Context(),
		team.SpawnInput{TeamName: "crew", Name: name, Prompt: prompt}); err != nil {
		s.Fatal(err)
	}
}

// process returns the process of the only member, as read_config shows it.
func (s *stage) process() team.ProcessView {
	s.Helper()
	out, err := s.Hub.Client(s.Agent).TeamReadConfig(s.Context(), team.NameInput{TeamName: "crew"})
	if err != nil || len(out.Processes) != 1 {
		s.Fatalf("got %+v, %v", out, err)
	}
	return out.Processes[0]
}

// ended waits until the member's process has ended, and returns it with the report to its lead.
func (s *stage) ended() (team.ProcessView, string) {
	s.Helper()
	domaintest.Eventually(s.T, "the process ends", func() bool { return s.process().State.Ended() })
	out, err := s.Hub.Client(s.Agent).TeamReadInbox(s.Context(), team.ReadInput{TeamName: "crew", AgentName: "team-lead"})
	if err != nil || len(out.Messages) == 0 {
		s.Fatalf("got %+v, %v", out, err)
	}
	return s.process(), out.Messages[len(out.Messages)-1].Text
}

// keysOf returns how many keys of a program are valid, and how many were revoked.
func (s *stage) keysOf(program string) (valid, revoked int) {
	s.Helper()
	out, err := s.Hub.Client(s.Human).ListKeys(s.Context(), keys.ListInput{Limit: 100})
	if err != nil {
		s.Fatal(err)
	}
	for _, k := range out.Keys {
		switch {
		case k.Program != program:
		case k.RevokedAt.IsZero():
			valid++
		default:
			revoked++
		}
	}
	return valid, revoked
}

// create puts a task into a queue.
func (s *stage) create(in dispatch.CreateInput) string {
	s.Helper()
	out, err := s.Hub.Client(s.Agent).CreateTask(s.Context(), in)
	if err != nil {
		s.Fatal(err)
	}
	return out.TaskID
}

// done waits until a task has ended, and returns it.
func (s *stage) done(id string) dispatch.View {
	s.Helper()
	var out dispatch.View
	domaintest.Eventually(s.T, "the task ends", func() bool {
		var err error
		if out, err = s.Hub.Client(s.Human).GetTask(s.Context(), dispatch.TaskInput{TaskID: id}); err != nil {
			s.Fatal(err)
		}
		return out.Status == task.Done || out.Status == task.Failed
	})
	return out
}

// has reports whether a text holds all words.
func has(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// readTail returns the end of a file.
func readTail(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text[max(0, len(text)-16<<10):])
}
