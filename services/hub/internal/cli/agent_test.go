//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/keys"
	"parley.internal/shared/task"
)

// ends waits until a task of a program has a status, and returns it.
func (p *process) ends(key, id string, want task.Status) dispatch.View {
	p.t.Helper()
	for over := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got, err := p.as(key).GetTask(p.t.Context(), dispatch.TaskInput{TaskID: id})
		if err == nil && got.Status == want {
			return got
		}
		if time.Now().After(over) {
			p.t.Fatalf("the task is %+v, %v; want %s", got, err, want)
		}
	}
}

// valid returns the names of the keys that are not revoked.
func (p *process) valid(human string) (names []string) {
	p.t.Helper()
	out, err := p.as(human).ListKeys(p.t.Context(), keys.ListInput{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, k := range out.Keys {
		if k.RevokedAt.IsZero() {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTheAgentCommandServesAQueueAndLosesNoTaskByAKill(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	p := serve(t, nil, local(data)...)
	vars := keysEnv(t, data)
	human := vars["PARLEY_HUMAN_KEY"]
	before := p.valid(human)
	create := func(title string) string {
		made, err := p.as(vars["PARLEY_KEY_BETA"]).CreateTask(t.Context(), dispatch.CreateInput{Title: title, Target: "worker"})
		if err != nil {
			t.Fatal(err)
		}
		return made.TaskID
	}
	env := []string{"PARLEY_URL=" + p.URL + "/mcp", "PARLEY_HUMAN_KEY=" + human, "PATH=" + os.Getenv("PATH"),
		"XDG_STATE_HOME=" + data}
	// The first word of a task chooses its outcome; a task that waits ends when the file go is there.
	line := `read word rest; echo $PARLEY_KEY > $word.key; case $word in wait) until test -e go; do sleep 0.05; done;; ` +
		`stop) sleep 1000;; fail) exit 3;; esac; echo did $rest`
	args := []string{"agent", "--program", "worker", "--dir", dir, "--command", `["sh", "-c", "` + line + `"]`, "--lease", "1m"}
	first := run(t, env, args...)
	if got := p.ends(human, create("do this"), task.Done); got.Result != "did this" || got.ClaimedBy != "worker" {
		t.Errorf("got %+v", got)
	}
	if got := p.ends(human, create("fail this"), task.Failed); got.Result != "the client exited with code 3" {
		t.Errorf("got %+v", got)
	}
	waits := create("wait for it")
	p.key(filepath.Join(dir, "wait.key"), 200)
	if code := first.stop(syscall.SIGKILL); code == 0 {
		t.Fatal("it was not killed")
	}
	second := run(t, env, args...)
	second.logged(`msg="a former worker left a task" task=` + waits)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The exit status of a command is lost with its parent, so the task is given back and done again.
	if got := p.ends(human, waits, task.Done); got.Result != "did for it" {
		t.Errorf("got %+v", got)
	}
	stopped := create("stop this")
	key := p.key(filepath.Join(dir, "stop.key"), 200)
	if code := second.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d: %s", code, second.err)
	}
	if got := p.ends(human, stopped, task.Created); got.Reason != "its worker was stopped" {
		t.Errorf("got %+v", got)
	}
	if a := p.call(key, "GET", "/v1/me", nil); a.Status != 401 {
		t.Errorf("the task's key is answered %s", a)
	}
	if after := p.valid(human); !slices.Equal(after, before) {
		t.Errorf("the valid keys are %q, want %q", after, before)
	}
	if secret.MatchString(first.err.String() + second.err.String()) {
		t.Errorf("a key was logged: %s%s", first.err, second.err)
	}
}

// key waits until the key in a file is answered with a status, and returns the key.
func (p *process) key(file string, status int) string {
	p.t.Helper()
	p.member(file, status)
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestTheAgentCommandServesWithTheProgramsOwnKey(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	p := serve(t, nil, local(data)...)
	alpha := keysEnv(t, data)["PARLEY_KEY"]
	made, err := p.as(alpha).CreateTask(t.Context(), dispatch.CreateInput{Title: "do this", Target: "alpha"})
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PARLEY_URL=" + p.URL, "PARLEY_KEY=" + alpha, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + data}
	r := run(t, env, "agent", "--program", "alpha", "--dir", dir, "--max-tasks", "1",
		"--command", `["sh", "-c", "cat {prompt_file}; echo $PARLEY_KEY > key"]`)
	if code := r.wait(); code != 0 {
		t.Fatalf("exit %d: %s", code, r.err)
	}
	if got := p.ends(alpha, made.TaskID, task.Done); got.Result != "do this" {
		t.Errorf("got %+v", got)
	}
	if key := read(t, filepath.Join(dir, "key")); key != alpha+"\n" {
		t.Errorf("the client's key is %q", key)
	}
}

func TestAWrongAgentCommandLineIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	env := map[string]string{"PARLEY_URL": p.URL, "PARLEY_KEY": keysEnv(t, data)["PARLEY_KEY"], "XDG_STATE_HOME": data}
	with := func(more ...string) []string {
		return append([]string{"agent", "--program", "alpha", "--command", "true"}, more...)
	}
	for words, args := range map[string][]string{
		`required flag(s) "program" not set`:                    {"agent"},
		"the variable NONE holds no key; set it to":             with("--key-env", "NONE"),
		"the server's URL must be http://host:port":             with("--url", "nonsense"),
		"--dir must not be empty; give a directory that exists": with("--dir", ""),
		"--lease must be from 30s to 24h, not 1s":               with("--lease", "1s"),
		"--grace must be more than 0, not -1s":                  with("--grace", "-1s"),
		"must not be negative":                                  with("--max-tasks", "-1"),
		`"a b" is not the name of a program`:                    with("--program", "a b"),
		"the values are thread, all and none":                   with("--resume=some"),
		"write it in one word: --resume=all":                    with("--resume", "all"),
		`speaks for "alpha", not for "worker"; unset`:           with("--program", "worker"),
		"--max-turns and --budget are for claude":               with("--budget", "1"),
		"--command is for the client command, not claude":       with("--client", "claude"),
		`there is no client "gemini"`:                           {"agent", "--program", "alpha", "--client", "gemini"},
		"the client command needs a command line":               {"agent", "--program", "alpha", "--client", "command"},
		"--attach and --client-arg are for claude and codex":    with("--client-arg", "x"),
		`"{x}" has the unknown placeholder`:                     with("--command", `["sh", "{x}"]`),
	} {
		if _, errOut, code := inProcess(t, env, args...); code != codeOf(errOut) || !strings.Contains(errOut, words) {
			t.Errorf("%q: got %d, %s; want %s", args, code, errOut, words)
		}
	}
}
