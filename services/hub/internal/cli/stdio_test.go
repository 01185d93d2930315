package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/cli"
)

func TestABridgeWithAnInvalidWorkspaceDoesNotStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file, filepath.Join(file, "..", "none")} {
		_, errOut, code := inProcess(t, map[string]string{"PARLEY_KEY": "k"}, "stdio", "--workspace-root", dir)
		for _, words := range []string{"--workspace-root", dir,
			"give a directory that exists, or omit --workspace-root to send no files"} {
			if code != 1 || !strings.Contains(errOut, words) {
				t.Errorf("%q: got %q, exit %d; want %q and 1", dir, errOut, code, words)
			}
		}
	}
}

func TestABridgeSendsFilesOfItsWorkspaceAlone(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	p := serve(t, nil, local(data)...)
	if err := os.WriteFile(filepath.Join(dir, "a.ts"), []byte("export {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PARLEY_KEY": keysEnv(t, data)["PARLEY_KEY"], "PARLEY_URL": p.URL + "/mcp/x/elenchus",
		"PARLEY_WORKSPACE_ROOT": dir}
	line := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"elenchus_start_session",`+
			`"arguments":{"target":"a.ts","requirements":"r","workingDir":%q}}}`, dir)
	for want, args := range map[string][]string{
		`"filesCollected":1`: {"stdio", "--workspace-root", dir},
		`"filesCollected":0`: {"stdio"}, // a server's variable opens no disk to another's server
	} {
		gave := ""
		if len(args) > 1 {
			gave = fmt.Sprintf("gave %q, 9 bytes, to %s\n", filepath.Join(dir, "a.ts"), env["PARLEY_URL"])
		}
		var out, errOut bytes.Buffer
		code := cli.Run(t.Context(), args, func(name string) string {
			return env[name]
		}, strings.NewReader(line+"\n"), &out, &errOut)
		if code != 0 || !strings.HasSuffix(errOut.String(), gave) || (gave == "") != (errOut.Len() == 0) ||
			!strings.Contains(out.String(), want) {
			t.Errorf("%v: got %s, %s, exit %d; want %s", args, &out, &errOut, code, want)
		}
	}
}

func TestABridgeTellsTheServerItsSession(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	env := map[string]string{"PARLEY_KEY": keysEnv(t, data)["PARLEY_KEY"], "PARLEY_URL": p.URL + "/mcp"}
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}` + "\n"
	ask := func(env map[string]string, args ...string) string {
		var out, errOut bytes.Buffer
		if code := cli.Run(t.Context(), append([]string{"stdio"}, args...), func(name string) string { return env[name] },
			strings.NewReader(line), &out, &errOut); code != 0 {
			t.Errorf("exit %d: %s", code, &errOut)
		}
		return out.String()
	}
	if got := ask(env); strings.Contains(got, `"session"`) {
		t.Errorf("without a session the server says %s", got)
	}
	if got := ask(env, "--session", "2"); !strings.Contains(got, `"session":"alpha/2"`) {
		t.Errorf("with a flag the server says %s", got)
	}
	env["PARLEY_SESSION"] = "alpha/build"
	if got := ask(env); !strings.Contains(got, `"session":"alpha/build"`) {
		t.Errorf("with the variable the server says %s", got)
	}
}
