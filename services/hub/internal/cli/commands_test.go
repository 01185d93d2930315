package cli_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/cli"
)

// environment returns the variables of a command in this process, which reaches no keyring of the machine.
func environment(env map[string]string) func(string) string {
	return func(name string) string {
		if v, ok := env[name]; ok || name != "PARLEY_KEYRING" {
			return v
		}
		return "off"
	}
}

// inProcess runs a command line in this process.
func inProcess(t *testing.T, env map[string]string, args ...string) (out, errOut string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(t.Context(), args, environment(env), strings.NewReader(""), &o, &e)
	return o.String(), e.String(), code
}

func TestAWrongCommandLineIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(data, "file")
	if err := os.WriteFile(file, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(data, "broken")
	if err := os.MkdirAll(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "parley.db"), bytes.Repeat([]byte("no database "), 1000),
		0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	fresh := filepath.Join(data, "fresh")
	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"serve", "--no-such-flag"}, "unknown flag: --no-such-flag"},
		{[]string{"key", "list", "--data", fresh}, "there is no store in " + fresh + ": name the data directory"},
		{[]string{"key", "revoke", "id", "--data", fresh}, "there is no store in " + fresh},
		{[]string{"backup", filepath.Join(data, "b"), "--data", fresh}, "there is no store in " + fresh},
		{[]string{"export", "--user", "u", "--data", fresh}, "there is no store in " + fresh},
		{[]string{"serve", "--adr", "127.0.0.1:0"}, "unknown flag: --adr; did you mean --addr?"},
		{[]string{"serve", "an-argument"}, "an-argument"},
		{[]string{"no-such-command"}, `unknown command "no-such-command"`},
		{[]string{"serve", "--addr", "nonsense"}, `--addr must be host:port, not "nonsense"`},
		{[]string{"serve", "--addr", "127.0.0.1:99999", "--data", filepath.Join(data, "a")},
			"cannot listen on 127.0.0.1:99999"},
		{[]string{"serve", "--addr", taken.Addr().String(), "--data", fresh},
			"cannot listen on " + taken.Addr().String()},
		{[]string{"serve", "--addr", taken.Addr().String(), "--data", fresh}, "listens there (stop it, or choose another address with --addr)"},
		{[]string{"serve", "--store", "postgres"}, `--store must be sqlite or firestore, not "postgres"`},
		{[]string{"serve", "--store", "firestore"}, "--project or set GOOGLE_CLOUD_PROJECT"},
		{[]string{"serve", "--rate", "fast"}, `"fast"`},
		{[]string{"serve", "--trust-proxy"}, "write --trust-proxy 1 for one proxy"},
		{[]string{"serve", "--trust-proxy", "--rate", "5"}, "write --trust-proxy 1 for one proxy"},
		{[]string{"serve", "--trust-proxy=true"}, "write --trust-proxy 1 for one proxy"},
		{[]string{"serve", "--firebase-project", "p", "--sign-in-allow", "local"}, "--sign-in-allow: "},
		{[]string{"serve", "--data", file, "--addr", "127.0.0.1:0"}, "cannot create the data directory"},
		{[]string{"serve", "--data", broken, "--addr", "127.0.0.1:0"}, "parley.db"},
		{[]string{"key", "create", "--data", data}, `required flag(s) "user" not set`},
		{[]string{"key", "create", "--data", data, "--user", "a b"}, "user: must be 1 to 100 letters"},
		{[]string{"key", "create", "--data", data, "--user", ""}, "user: must be 1 to 100 letters"},
		{[]string{"key", "create", "--data", data, "--user", "u", "--program", "no/program"},
			"program: must be 1 to 100 letters"},
		{[]string{"key", "create", "--data", data, "--user", "u", "--kind", "robot"}, "kind: must be agent or human"},
		{[]string{"key", "create", "--data", data, "--user", "u", "--kind", "human", "--program", "p"},
			"program: must be empty for a key of the kind human"},
		{[]string{"key", "create", "--data", data, "--user", "u", "--scopes", "read,everything"},
			`scopes: "everything" is not a scope; the scopes are read, write, admin, answer, console, runner, dispatch`},
		{[]string{"key", "create", "--data", data, "--user", "u", "--team", "core"},
			"team: is allowed with the scope runner only"},
		{[]string{"key", "create", "--data", data, "--user", "u", "--scopes", "runner", "--team", "a b"},
			"team: must be the name of a team"},
		{[]string{"key", "create", "--data", data, "--user", "u", "--expires", "-1h"},
			"--expires must be at least 1s, not -1h"},
		{[]string{"key", "create", "--data", data, "--user", "u", "--expires", "10ms"},
			"--expires must be at least 1s, not 10ms"},
		{[]string{"key", "create", "--data", data, "--user", "u", "--expires", "1500h", "--store", "x"},
			"--store must be sqlite or firestore"},
		{[]string{"key", "create", "--data", data, "--user", "u", "too", "much"}, "too"},
		{[]string{"key", "revoke", "--data", data}, "accepts 1 arg(s), received 0"},
		{[]string{"key", "revoke", "--data", data, "nobody-made-this"}, `no key with id "nobody-made-this"`},
		{[]string{"key", "revoke", "--data", data, "../x"}, "../x"},
		{[]string{"version", "please"}, "please"},
		{[]string{"stdio", "--key-env", "NO_SUCH_VARIABLE"}, "the variable NO_SUCH_VARIABLE holds no key"},
	} {
		out, errOut, code := inProcess(t, map[string]string{"PARLEY_DATA": filepath.Join(data, "default")}, c.args...)
		if code != codeOf(errOut) || out != "" || !strings.HasPrefix(errOut, "parley: ") || !strings.Contains(errOut, c.words) ||
			strings.Contains(errOut, "internal error") {
			t.Errorf("%v: got %q, %q, exit %d; want %q and %d", c.args, out, errOut, code, c.words, codeOf(errOut))
		}
		if strings.Count(errOut, "\n") > 2 {
			t.Errorf("%v: the error is longer than two lines: %s", c.args, errOut)
		}
	}
	// A server that could not listen leaves nothing that was not there.
	for _, dir := range []string{fresh, filepath.Join(data, "a")} {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a server that could not start left %s, %v", dir, err)
		}
	}
}

func TestTheProcessEndsWithTheExitCode(t *testing.T) {
	t.Parallel()
	if out, errOut, code := command(t, nil, "serve", "--addr", "nonsense"); code != 1 || out != "" ||
		errOut != "parley: --addr must be host:port, not \"nonsense\"\n" {
		t.Errorf("got %q, %q, exit %d", out, errOut, code)
	}
}

func TestHelpNamesEveryCommandAndVariable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--help"}, []string{"serve", "key", "stdio", "version"}},
		{nil, []string{"parley serve", "parley connect claude", "parley link --console", "parley help"}},
		{[]string{"help"}, []string{"serve", "key", "stdio", "version"}},
		{[]string{"--version"}, []string{"\n"}},
		{[]string{"serve", "--help"},
			[]string{"PARLEY_ADDR", "PORT", "PARLEY_DATA", "PARLEY_STORE", "GOOGLE_CLOUD_PROJECT", "PARLEY_RATE",
				"PARLEY_BURST", "PARLEY_TRUST_PROXY", "PARLEY_ALLOWED_ORIGINS", "PARLEY_SIGN_IN_ALLOW"}},
		{[]string{"key", "--help"}, []string{"create", "list", "revoke"}},
	} {
		out, errOut, code := inProcess(t, nil, c.args...)
		for _, w := range c.words {
			if code != 0 || errOut != "" || !strings.Contains(out, w) {
				t.Errorf("%v: got %q, %q, exit %d; want %s", c.args, out, errOut, code, w)
			}
		}
	}
}

// codeOf returns the exit code that goes with an error: 2 where it is about the command line as such and names the help.
func codeOf(errOut string) int {
	if strings.HasSuffix(errOut, " --help`\n") {
		return 2
	}
	return 1
}

func TestTheExitCodeTellsAWrongCommandLineFromOtherErrors(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PARLEY_DATA": filepath.Join(t.TempDir(), "none")}
	for line, want := range map[string]int{
		"": 0, "help": 0, "task": 0, "task --help": 0, "frob": 2, "task frob": 2, "tasks frob": 2, "tasks --frob": 2, "task show": 2,
		"tasks --status ready": 2, "tasks --limit 0": 2, "task create t --priority urgent": 2, "send beta": 2, "search": 2,
		"send beta x --priority urgent": 2, "runner": 2, "serve --rate fast": 2, "events": 0, "events frob": 2,
		// No key is known here.
		"tasks": 1, "task show x": 1, "send beta x": 1, "mail": 1, "alerts": 1, "agents": 1, "search x": 1, "events tail": 1,
		// For the clients that run these, 2 is a refusal of their agent's next step.
		"guard --frob": 1, "hook --frob": 1,
	} {
		if out, errOut, code := inProcess(t, env, strings.Fields(line)...); code != want {
			t.Errorf("%q: exit %d, want %d: %s%s", line, code, want, out, errOut)
		}
	}
	if _, errOut, _ := inProcess(t, env, "taks"); !strings.Contains(errOut, "did you mean tasks or task?") &&
		!strings.Contains(errOut, "did you mean task or tasks?") {
		t.Errorf("a misspelt command: %s", errOut)
	}
	for _, args := range [][]string{{"help", "servee"}, {"help", "task", "sho"}} {
		if out, errOut, code := inProcess(t, env, args...); out != "" || code != 2 || !strings.Contains(errOut, "did you mean") {
			t.Errorf("%v: exit %d, %q, %s", args, code, out, errOut)
		}
	}
	for _, word := range []string{"upgrade", "updat", "self-update"} {
		if _, errOut, _ := inProcess(t, env, word); !strings.Contains(errOut, "did you mean update?") {
			t.Errorf("%s: %s", word, errOut)
		}
	}
	if out, _, code := inProcess(t, env); code != 0 || !strings.Contains(out, "parley update ") {
		t.Errorf("what to do next names no update: %s", out)
	}
}
