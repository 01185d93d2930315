package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/executabletest"
	"parley.internal/shared/keys"
)

// connectDesk is a home directory and a repository beside a server, for commands that connect clients.
type connectDesk struct {
	t             *testing.T
	server        *process
	home, project string
	data          string
	vars          map[string]string
	env           []string
}

func newConnectDesk(t *testing.T) *connectDesk {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &connectDesk{t: t, home: filepath.Join(root, "home"), project: filepath.Join(root, "project"),
		data: filepath.Join(root, "data")}
	for _, dir := range []string{d.home, d.project} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", d.project).CombinedOutput(); err != nil {
		t.Fatalf("git: %v\n%s", err, out)
	}
	executabletest.Write(t, filepath.Join(root, "parley-hook"), []byte("#!/bin/sh\n[ $2 != SessionStart ] ||"+
		" echo '{\"hookSpecificOutput\":{\"additionalContext\":\"You are the hook of '$4'.\"}}'\n"))
	d.server = serve(t, nil, local(d.data)...)
	d.vars = keysEnv(t, d.data)
	// No client of the machine is found: a PATH with git alone.
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(git, filepath.Join(bin, "git")); err != nil {
		t.Fatal(err)
	}
	d.env = []string{"HOME=" + d.home, "XDG_CONFIG_HOME=", "PARLEY_KEYRING=off", "PARLEY_DATA=" + d.data, "PATH=" + bin,
		"CLAUDE_CONFIG_DIR=", "CODEX_HOME="}
	return d
}

func (d *connectDesk) run(args ...string) (out, errOut string, code int) {
	d.t.Helper()
	return command(d.t, d.env, append([]string{"connect", "--repo", d.project, "--hook-program",
		filepath.Join(filepath.Dir(d.home), "parley-hook")}, args...)...)
}

// ok runs a command that has to succeed.
func (d *connectDesk) ok(args ...string) string {
	d.t.Helper()
	out, errOut, code := d.run(args...)
	if code != 0 {
		d.t.Fatalf("connect %v: exit %d\n%s%s", args, code, out, errOut)
	}
	return out
}

// keys returns the valid keys of a program.
func (d *connectDesk) keys(program string) (valid []keys.View) {
	d.t.Helper()
	out, err := d.server.as(d.vars["PARLEY_HUMAN_KEY"]).ListKeys(d.t.Context(), keys.ListInput{Limit: 100})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, k := range out.Keys {
		if k.Program == program && k.RevokedAt.IsZero() {
			valid = append(valid, k)
		}
	}
	return valid
}

// files returns the texts of all files in the home directory and the repository, but git's own.
func (d *connectDesk) files() string {
	d.t.Helper()
	var b strings.Builder
	for _, dir := range []string{d.home, d.project} {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.Contains(path, "/.git/") && !strings.HasSuffix(path, "info/exclude") {
				return err
			}
			text, err := os.ReadFile(path)
			b.WriteString("=== " + path + "\n" + string(text))
			return err
		})
		if err != nil {
			d.t.Fatal(err)
		}
	}
	return b.String()
}

func TestConnectGivesAClientAKeyOfItsOwnOnce(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	before := d.files()
	diff := d.ok("claude", "--dry-run")
	if !strings.Contains(diff, "+++ "+d.project+"/.claude/settings.local.json") || d.files() != before || len(d.keys("claude")) != 0 {
		t.Errorf("a dry run changed something, or shows no diff:\n%s", diff)
	}
	out := d.ok("claude")
	made := d.keys("claude")
	if len(made) != 1 || !strings.Contains(strings.Join(made[0].Scopes, " "), "write") || !strings.HasPrefix(made[0].Name, "claude on ") ||
		!strings.Contains(out, "done   hook     a session's start tells the agent: You are the hook of claude-") ||
		!strings.Contains(out, "todo   check    Claude Code is not installed in PATH") && !strings.Contains(out, "todo   trust") {
		t.Errorf("the keys are %+v, and connect said\n%s", made, out)
	}
	after := d.files()
	if again := d.ok("claude"); !strings.Contains(again, "up to date") || d.files() != after || len(d.keys("claude")) != 1 {
		t.Errorf("connecting again changed something:\n%s", again)
	}
	if again := d.ok("claude", "--dry-run"); !strings.Contains(again, "nothing would change") {
		t.Errorf("a dry run after it:\n%s", again)
	}
	if out := d.ok("claude", "--remove"); !strings.Contains(out, "that of the program claude is revoked") {
		t.Errorf("removing said\n%s", out)
	}
	if d.files() != before || len(d.keys("claude")) != 0 {
		t.Errorf("after removing, %d keys are valid, and there is\n%s", len(d.keys("claude")), d.files())
	}
	if out := d.ok("claude", "--remove"); !strings.Contains(out, "nothing is connected here") {
		t.Errorf("removing again said\n%s", out)
	}
}

func TestTheTrialOfTheHookTakesNoMail(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	d.ok("claude")
	sent := d.server.call(d.vars["PARLEY_KEY"], "POST", "/v1/messages",
		map[string]any{"target": "claude", "message_type": "STATUS", "message": "hello"})
	if sent.Status != 201 {
		t.Fatalf("got %s", sent)
	}
	for range 2 {
		if out := d.ok("claude"); !strings.Contains(out, "not tried, because it would take the mail") {
			t.Errorf("connect said\n%s", out)
		}
	}
}

func TestAConnectedClientReachesTheServerWithItsKey(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	var report struct {
		Connections []struct{ Connection, Program, Endpoint string }
	}
	if err := json.Unmarshal([]byte(d.ok("claude", "--json")), &report); err != nil || len(report.Connections) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	c := report.Connections[0]
	text, errOut, code := command(t, d.env, "connect", "--print-headers", c.Connection)
	var headers map[string]string
	if err := json.Unmarshal([]byte(text), &headers); err != nil || code != 0 {
		t.Fatalf("print-headers: %q, %q, %d, %v", text, errOut, code, err)
	}
	key, _ := strings.CutPrefix(headers["Authorization"], "Bearer ")
	if a := d.server.call(key, "GET", "/v1/me", nil); a.Status != 200 || !strings.Contains(string(a.Body), `"program":"claude"`) {
		t.Errorf("the key is that of %s", a)
	}
	if files := d.files(); strings.Count(files, key) != 1 {
		t.Errorf("the key is in %d places", strings.Count(files, key))
	}
	config := filepath.Join(d.home, ".config", "parley", "connections", c.Connection+".json")
	if err := os.Chmod(config, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, errOut, code := command(t, d.env, "connect", "--print-headers", c.Connection); code != 1 || out != "" ||
		!strings.Contains(errOut, "others can read or write it") || strings.Contains(errOut, key) {
		t.Errorf("of a file that others can read: %q, %q, %d", out, errOut, code)
	}
}

func TestTheNamesOfAgentsDiffer(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	d.ok("codex", "--user")
	if out := d.ok("codex"); !strings.Contains(out, "made for the program codex-2") ||
		!strings.Contains(out, "is connected for every directory too") {
		t.Errorf("the second said\n%s", out)
	}
	d.ok("codex", "--program", "reviewer")
	if len(d.keys("codex-2")) != 0 || len(d.keys("reviewer")) != 1 || len(d.keys("codex")) != 1 {
		t.Error("after another name the earlier key is valid, or the new one is not")
	}
	list := d.ok("--list")
	for _, want := range []string{`codex +- +codex +everywhere +http\S+ +yes +valid`, `codex +- +reviewer +\S+/project +http\S+ +yes +valid`} {
		if !regexp.MustCompile(want).MatchString(list) {
			t.Errorf("the list has no %s:\n%s", want, list)
		}
	}
	d.ok("all", "--remove")
	if len(d.keys("reviewer")) != 0 || len(d.keys("codex")) != 1 {
		t.Error("removing all here revoked the wrong key")
	}
}

func TestAConnectionKeepsWhatThePersonChose(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	out := d.ok("claude", "--permissions", "--permission-timeout", "60", "--permission-assurance", "device",
		"--allow", "Bash(git status*)", "--deny", "Bash(rm *)", "--wake-on", "RESULT", "--continue")
	if !strings.Contains(out, "--permission-mode default") {
		t.Errorf("nobody is told that the client's auto mode asks for nothing:\n%s", out)
	}
	first := d.files()
	if out := d.ok("claude"); d.files() != first {
		t.Errorf("connecting again forgot something:\n%s", out)
	}
	for _, want := range []string{`"PermissionRequest"`, `"timeout": 65`, `"assurance": "device"`, `"Bash(git status*)"`, `"Bash(rm *)"`,
		`"RESULT"`, `"continue": true`} {
		if !strings.Contains(first, want) {
			t.Errorf("no file has %s:\n%s", want, first)
		}
	}
	d.ok("claude", "--permissions=false")
	if strings.Contains(d.files(), `"PermissionRequest"`) {
		t.Error("permission requests are still answered")
	}
}

func TestARuleThatCanNeverMatchIsRefusedBeforeAnythingChanges(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	before := d.files()
	for _, rule := range []string{"Bash(", "", "Bash(ls)x"} {
		if _, said, code := d.run("claude", "--permissions", "--deny", rule); code == 0 || !strings.Contains(said, "write TOOL or TOOL(PATTERN)") {
			t.Errorf("%q: exit %d, %s", rule, code, said)
		}
	}
	if d.files() != before {
		t.Error("something changed")
	}
}

func TestAKeyThatThePersonGivesIsTakenAndNotRevoked(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	d.env = append(d.env, "MINE="+d.vars["PARLEY_KEY"], "UNBOUND="+makeKey(t, d.data))
	remote := []string{"claude", "--data", filepath.Join(d.home, "none"), "--url", d.server.URL}
	if out := d.ok(append(remote, "--key-env", "MINE")...); !strings.Contains(out, "the given one of the program alpha") {
		t.Errorf("connect said\n%s", out)
	}
	if again := d.ok(remote...); !strings.Contains(again, "that of the program alpha, as before") {
		t.Errorf("connecting again, without the variable, said\n%s", again)
	}
	if out := d.ok("claude", "--remove"); !strings.Contains(out, "so it stays valid") || len(d.keys("alpha")) != 1 {
		t.Errorf("removing said\n%s", out)
	}
	for words, args := range map[string][]string{
		"bound to no program": append(remote, "--key-env", "UNBOUND"),
		"omit --program":      append(remote, "--key-env", "MINE", "--program", "other"),
		"NONE holds no key":   append(remote, "--key-env", "NONE"),
	} {
		if out, errOut, code := d.run(args...); code != 1 || !strings.Contains(errOut, words) {
			t.Errorf("%v: %q, %q, %d; want %q", args, out, errOut, code, words)
		}
	}
}

func TestTheBridgeTakesItsKeyFromAConnection(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	d.ok("cursor")
	text, err := os.ReadFile(filepath.Join(d.project, ".cursor", "mcp.json"))
	id := regexp.MustCompile(`cursor-[0-9a-f]+`).FindString(string(text))
	if err != nil || id == "" || strings.Contains(string(text), "parley_") {
		t.Fatalf("the settings are %s, %v", text, err)
	}
	p := exec.CommandContext(t.Context(), binary, "stdio", "--connection", id)
	p.Env = append(os.Environ(), d.env...)
	p.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}` + "\n")
	out, err := p.Output()
	if err != nil || !strings.Contains(string(out), `\"program\":\"cursor\"`) {
		t.Errorf("the bridge answers %s, %v", out, err)
	}
	if out, errOut, code := command(t, d.env, "stdio", "--connection", "cursor-none"); code != 1 || out != "" ||
		!strings.Contains(errOut, "there is no such connection") {
		t.Errorf("without the connection: %q, %q, %d", out, errOut, code)
	}
}

func TestConnectSaysWhatToDo(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	for _, c := range []struct {
		args  []string
		words string
	}{
		{nil, "name a client: claude, codex, gemini"},
		{[]string{"emacs"}, `"emacs" is no client`},
		{[]string{"cluade"}, "did you mean claude?"},
		{[]string{"all"}, "none of the clients is installed"},
		{[]string{"all", "--program", "x"}, "give it with one client"},
		{[]string{"all", "--remove"}, "nothing is connected here"},
		{[]string{"claude", "--user", "--project"}, "none of the others can be"},
		{[]string{"claude", "--program", "a b"}, "--program must be 1 to 100 letters"},
		{[]string{"claude", "--permission-timeout", "-5"}, "--permission-timeout must be 1 to 3600 seconds"},
		{[]string{"claude", "--permission-timeout", "0"}, "--permission-timeout must be 1 to 3600 seconds"},
		{[]string{"claude", "--permission-timeout", "3601"}, "--permission-timeout must be 1 to 3600 seconds"},
		{[]string{"claude", "--toolsets", "nonsense"}, "answers with the status 404"},
		{[]string{"claude", "--url", "http://127.0.0.1:9"}, "start it with `parley serve`"},
		{[]string{"claude", "--url", "http://other.example"}, "set the variable PARLEY_HUMAN_KEY"},
		{[]string{"--print-headers", "../x"}, "is not the id of a connection"},
	} {
		before := d.files()
		out, errOut, code := d.run(c.args...)
		if code != 1 || !strings.Contains(errOut, c.words) {
			t.Errorf("%v: got %q, %q, exit %d; want %q", c.args, out, errOut, code, c.words)
		}
		if after := d.files(); after != before && !strings.Contains(after, "nonsense") && c.args[len(c.args)-1] != "nonsense" {
			t.Errorf("%v changed files:\n%s", c.args, after)
		}
	}
}

func TestAKeyringKeepsTheKeyOfAConnection(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	env := map[string]string{"HOME": d.home, "PARLEY_DATA": d.data, "PARLEY_KEYRING": "on", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}
	out, errOut, code := inProcess(t, env, "connect", "cursor", "--repo", d.project)
	if code != 0 || !strings.Contains(out, "in the keyring (parley, agent-cursor-") || strings.Contains(d.files(), `"key": "parley_`) {
		t.Fatalf("got %q, %q, exit %d\n%s", out, errOut, code, d.files())
	}
	id := regexp.MustCompile(`cursor-[0-9a-f]+`).FindString(out)
	text, errOut, code := inProcess(t, env, "connect", "--print-headers", id)
	if code != 0 || !strings.HasPrefix(text, `{"Authorization":"Bearer parley_`) {
		t.Errorf("print-headers: %q, %q, exit %d", text, errOut, code)
	}
	if out, errOut, code := inProcess(t, env, "connect", "cursor", "--repo", d.project, "--remove"); code != 0 {
		t.Errorf("removing: %q, %q, exit %d", out, errOut, code)
	}
	if _, errOut, code := inProcess(t, env, "connect", "--print-headers", id); code != 1 || !strings.Contains(errOut, "no such connection") {
		t.Errorf("after the removal: %q, exit %d", errOut, code)
	}
}
