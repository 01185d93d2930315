//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley.internal/shared/team"
)

func TestTheRunnerCommandStartsAndEndsMembers(t *testing.T) {
	t.Parallel()
	data, root := t.TempDir(), t.TempDir()
	p := serve(t, nil, local(data)...)
	key := keysEnv(t, data)["PARLEY_KEY"]
	hub := p.as(key)
	if _, err := hub.TeamCreate(t.Context(), team.CreateInput{TeamName: "core"}); err != nil {
		t.Fatal(err)
	}
	runnerKey := makeKey(t, data, "--scopes", "runner", "--team", "core")
	config := filepath.Join(root, "runner.json")
	command := `{"command": ["sh", "-c", "echo \"$0 in $PWD has ${{PARLEY_KEY:+a key}}\"; ` +
		`umask 77; echo \"$PARLEY_KEY\" > $0.key; test \"$0\" = short && exit 3; while :; do sleep 1; done", "{name}"]}`
	if err := os.WriteFile(config, []byte(command), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PARLEY_URL=" + p.URL + "/mcp", "PARLEY_KEY=" + runnerKey, "PATH=" + os.Getenv("PATH"),
		"XDG_STATE_HOME=" + data}
	r := run(t, env, "runner", "--team", "core", "--root", root, "--config", config, "--grace", "4s")
	for _, name := range []string{"short", "long"} {
		if _, err := hub.TeamSpawnTeammate(t.Context(),
			team.SpawnInput{TeamName: "core", Name: name, Prompt: "begin"}); err != nil {
			t.Fatal(err)
		}
	}
	r.logged(`msg="a process ended" member=short pid=\d+ state=exited`)
	r.logged(`msg="a process started" member=long pid=\d+ log=\S+`)
	logs, err := filepath.Glob(filepath.Join(data, "parley", "runner", "core-????????????", "logs", "*.log"))
	if err != nil || len(logs) != 2 {
		t.Fatal(logs, err)
	}
	text, err := os.ReadFile(logs[1])
	if err != nil || !strings.HasSuffix(string(text), "\nshort in "+root+" has a key\n") {
		t.Errorf("the log has %q, %v", text, err)
	}
	if member := p.member(filepath.Join(root, "long.key"), 200); member != "core.long, long of core" {
		t.Errorf("the member's key is that of %q", member)
	}
	p.member(filepath.Join(root, "short.key"), 401)
	if code := r.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d: %s", code, r.err)
	}
	r.logged(`member=long pid=\d+ state=killed signal=SIGTERM`)
	p.member(filepath.Join(root, "long.key"), 401)
	for _, path := range []string{"/v1/tasks", "/v1/teams/core", "/v1/teams/core/tasks", "/v1/keys"} {
		if a := p.call(runnerKey, "GET", path, nil); a.Status != 403 {
			t.Errorf("the runner's key reaches %s: %s", path, a)
		}
	}
	if secret.MatchString(r.err.String()) || r.out.String() != "" {
		t.Errorf("it wrote %s%s", r.out, r.err)
	}
	out, err := hub.TeamListProcesses(t.Context(), team.ProcessesInput{TeamName: "core"})
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, q := range out.Processes {
		states = append(states, q.Name+" "+string(q.State))
		if q.Name == "short" && (q.ExitCode == nil || *q.ExitCode != 3) {
			t.Errorf("got %+v", q)
		}
	}
	if slices.Sort(states); !slices.Equal(states, []string{"long killed", "short exited"}) {
		t.Errorf("got %v", states)
	}
}

// member waits until the key in a file is answered with a status, and returns the program and the member of the key. A
// member writes the file after its start is logged, and the server learns of its end after that is logged.
func (p *process) member(file string, status int) string {
	p.t.Helper()
	for over := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		key, err := os.ReadFile(file)
		var me struct{ Program, Team, Member string }
		if err == nil && strings.HasSuffix(string(key), "\n") {
			a := p.call(strings.TrimSpace(string(key)), "GET", "/v1/me", nil)
			if a.Status == status {
				_ = a.Into(&me) // a refusal has no data
				return me.Program + ", " + me.Member + " of " + me.Team
			}
			err = fmt.Errorf("its key is answered %s", a)
		}
		if time.Now().After(over) {
			p.t.Fatalf("%s: %v, want %d", file, err, status)
		}
	}
}

// logged waits until the log of a process matches a pattern.
func (p *process) logged(pattern string) {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	over := time.After(patience)
	for !re.MatchString(p.err.String()) {
		select {
		case <-p.err.more:
		case <-over:
			p.t.Fatalf("it does not log %s:\n%s", pattern, p.err)
		}
	}
}

func TestAWrongRunnerCommandLineIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "runner.json")
	if err := os.WriteFile(file, []byte(`{"command": ["no-such-tool"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PARLEY_KEY": "parley_k", "XDG_STATE_HOME": dir}
	with := func(more ...string) []string { return append([]string{"--team", "core", "--root", dir}, more...) }
	for words, args := range map[string][]string{
		`required flag(s) "root", "team" not set`:                 {},
		"the variable NONE holds no key":                          with("--key-env", "NONE"),
		"the server's URL must be http://host:port":               with("--url", "nonsense"),
		"--root must not be empty; give a directory that exists":  with("--root", ""),
		"no such file or directory; give a directory that exists": with("--root", dir+"/none"),
		"is not a directory; give a directory that exists":        with("--root", file),
		"--grace must be more than 0, not -1s":                    with("--grace", "-1s"),
		"cannot read the configuration":                           with("--config", dir+"/none"),
		`"../core" is not the name of a team`:                     with("--team", "../core", "--config", file),
		"cannot create the state directory":                       with("--config", file, "--state", file),
		"Could not find 'no-such-tool' binary on PATH.":           with("--config", file),
	} {
		out, errOut, code := inProcess(t, env, append([]string{"runner"}, args...)...)
		if code != codeOf(errOut) || out != "" || !strings.HasPrefix(errOut, "parley: ") || !strings.Contains(errOut, words) {
			t.Errorf("%v: got %q, %q, exit %d; want %q", args, out, errOut, code, words)
		}
	}
	if _, errOut, code := inProcess(t, map[string]string{"PARLEY_KEY": "k"}, "runner", "--team", "core", "--root", dir,
		"--config", file); code != 1 ||
		!strings.Contains(errOut, "give a directory for its state with --state") {
		t.Errorf("without a home: got %q, exit %d", errOut, code)
	}
}

func TestHelpOfTheRunnerNamesItsFlagsAndHidesTheChildCommand(t *testing.T) {
	t.Parallel()
	out, _, code := inProcess(t, nil, "runner", "--help")
	for _, w := range []string{"--team", "--root", "--url", "PARLEY_URL", "--key-env", "PARLEY_KEY", "--state",
		"--config", "--grace"} {
		if code != 0 || !strings.Contains(out, w) {
			t.Errorf("got %q, exit %d; want %s", out, code, w)
		}
	}
	out, _, _ = inProcess(t, nil, "--help")
	if !strings.Contains(out, "\n  runner ") || strings.Contains(out, "runner-child") {
		t.Errorf("got %q", out)
	}
}
