//go:build unix

package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley.internal/services/hub/internal/runner"
	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/shared/client"
)

// planVariable makes this binary run as a runner that a test can kill.
const planVariable = "RUNNER_TEST_PLAN"

// This binary is also the processes that a runner starts, the program that waits to become one, and the runner that a
// test kills.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "runner-child":
		fmt.Fprintln(os.Stderr, launch.Child())
		os.Exit(1)
	case os.Args[0] == "claude" || os.Args[0] == "codex" || len(os.Args) > 1 && os.Args[1] == "mate":
		playMate()
	case os.Getenv(planVariable) != "":
		playRunner()
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		noProcesses()
		os.Exit(code)
	}))
}

// noProcesses fails the run if a process of this binary outlives the tests.
func noProcesses() {
	self, err := os.Executable()
	if err != nil || runtime.GOOS != "linux" {
		return
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		var left []string
		for _, link := range links {
			if exe, err := os.Readlink(link); err == nil && exe == self &&
				filepath.Base(filepath.Dir(link)) != fmt.Sprint(os.Getpid()) {
				left = append(left, link)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, "FAIL: processes outlive the tests:", left)
			os.Exit(1)
		}
	}
}

const (
	// short is a grace period on which no test's outcome depends. fair is one in which a process that handles SIGTERM
	// must have ended.
	short, fair = 100 * time.Millisecond, 4 * time.Second
)

// plan is the configuration of a runner.
type plan struct {
	URL, Team, Key, Root, State, Stage string
	Command                            string
	Env                                []string
	Times                              runner.Times
}

// brisk are the times of most tests. The grace period is long enough for every process that handles SIGTERM.
var brisk = runner.Times{Grace: patience, Heartbeat: time.Hour, Poll: 10 * time.Millisecond, Drain: 20 * time.Second,
	Unit: 5 * time.Millisecond}

func newPlan(t *testing.T, s *server, st *stage) plan {
	t.Helper()
	return planFor(t, s.URL, theKey, st)
}

func planFor(t *testing.T, url, key string, st *stage) plan {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := plan{URL: url, Team: theTeam, Key: key, Root: root, State: filepath.Join(t.TempDir(), "state"), Stage: st.addr,
		Times: brisk}
	p.Command = fmt.Sprintf(`{"command": [%q, "mate", "{agent_id}"], "env": {%q: %q}}`, self, stageVariable, st.addr)
	return p
}

// make returns the runner of a plan.
func (p plan) make(log io.Writer) (*runner.Runner, error) {
	file := filepath.Join(p.Root, ".command.json")
	if err := os.WriteFile(file, []byte(p.Command), 0o600); err != nil {
		return nil, err
	}
	command, err := runner.ReadCommand(file)
	if err != nil {
		return nil, err
	}
	kept, err := journal.Open(p.State)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := p.Env
	if env == nil {
		env = os.Environ()
	}
	calls, err := client.New(p.URL, p.Key,
		client.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		return nil, err
	}
	return &runner.Runner{Server: &hub.Team{Client: calls, Name: p.Team, Key: p.Key, KeyFrom: "the variable PARLEY_KEY",
		Runner: kept.ID()},
		Journal: kept, Command: command, URL: p.URL, Team: p.Team, Key: p.Key, Root: p.Root, Env: env,
		Child: []string{self, "runner-child"}, Pane: []string{self, "runner-pane"}, Times: p.Times,
		Log: slog.New(slog.NewTextHandler(log, nil)), Now: time.Now}, nil
}

// playRunner runs the plan in the environment until it is interrupted or killed.
func playRunner() {
	var p plan
	err := json.Unmarshal([]byte(os.Getenv(planVariable)), &p)
	if err == nil {
		_ = os.Unsetenv(planVariable)
		var r *runner.Runner
		if r, err = p.make(os.Stdout); err == nil {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			err = r.Run(ctx)
			stop()
		}
	}
	if err != nil {
		fmt.Println("the runner:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// running is a runner in this process.
type running struct {
	t    *testing.T
	r    *runner.Runner
	stop context.CancelFunc
	done chan struct{}
	err  error

	mu   sync.Mutex
	log  bytes.Buffer
	more chan struct{}
}

// Write receives the runner's log.
func (x *running) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.more)
	x.more = make(chan struct{})
	return x.log.Write(p)
}

// until waits until the log contains the words.
func (x *running) until(words string) {
	x.t.Helper()
	over := time.After(patience)
	for {
		x.mu.Lock()
		text, more := x.log.String(), x.more
		x.mu.Unlock()
		if strings.Contains(text, words) {
			return
		}
		select {
		case <-more:
		case <-over:
			x.t.Fatalf("the log does not say %q:\n%s", words, text)
		}
	}
}

// run runs the plan here, until the test ends or stops it.
func (p plan) run(t *testing.T) *running {
	t.Helper()
	x := &running{t: t, done: make(chan struct{}), more: make(chan struct{})}
	r, err := p.make(x)
	if err != nil {
		t.Fatal(err)
	}
	x.r = r
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	go func() {
		defer close(x.done)
		x.err = r.Run(ctx)
	}()
	t.Cleanup(func() {
		x.end()
		if text := x.text(); strings.Contains(text, p.Key) || strings.Contains(text, r.Journal.ID()) {
			t.Errorf("the log holds a secret:\n%s", text)
		} else if t.Failed() {
			t.Logf("the log:\n%s", text)
		}
	})
	return x
}

func (x *running) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.log.String()
}

// wait waits until the runner has ended and returns its error.
func (x *running) wait() error {
	x.t.Helper()
	select {
	case <-x.done:
	case <-time.After(patience):
		x.t.Fatalf("the runner does not end:\n%s", x.text())
	}
	_ = x.r.Journal.Close() // unlocks it for a successor; it may be closed
	return x.err
}

// end stops the runner.
func (x *running) end() {
	x.t.Helper()
	x.stop()
	_ = x.wait() // tests that check the error call wait
}

// killable is a runner in its own process, which a test can kill.
type killable struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *bytes.Buffer
	done chan struct{}
}

func (p plan) spawn(t *testing.T) *killable {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &killable{t: t, cmd: exec.Command(self), out: &bytes.Buffer{}, done: make(chan struct{})}
	k.cmd.Env, k.cmd.Stdout, k.cmd.Stderr = append(os.Environ(), planVariable+"="+string(text)), k.out, k.out
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(k.done)
		_ = k.cmd.Wait() // the exit status is in ProcessState
	}()
	t.Cleanup(k.kill)
	return k
}

// kill kills the runner and waits for its end.
func (k *killable) kill() {
	_ = k.cmd.Process.Kill() // it may have ended
	<-k.done
}

// end interrupts the runner and returns its exit code.
func (k *killable) end() int {
	k.t.Helper()
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		k.t.Fatal(err)
	}
	select {
	case <-k.done:
	case <-time.After(patience):
		k.t.Fatal("the runner does not end")
	}
	return k.cmd.ProcessState.ExitCode()
}

// records returns the records in the plan's journal by process ID.
func (p plan) records(t *testing.T) map[string]journal.Record {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.State, "processes", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]journal.Record{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		var r journal.Record
		if err != nil || json.Unmarshal(text, &r) != nil {
			t.Fatalf("%s: %v, %q", file, err, text)
		}
		out[r.ProcessID] = r
	}
	return out
}

// output returns the log of a member of the plan.
func (p plan) output(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.State, "logs", name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
