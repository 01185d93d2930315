package agents_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/services/hub/harness/program"
	"parley.internal/services/hub/internal/executabletest"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/supervise"
)

// clientsIn names a directory with the programs of real clients, where they are not installed beside this test.
const clientsIn = "PARLEY_CLIENTS"

// needClient returns the directory of a real client's program. Without it the test is skipped, unless REQUIRE_EMULATOR
// is 1.
func needClient(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{filepath.Join("node_modules", ".bin"), os.Getenv(clientsIn)} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil && dir != "" {
			dir, err := filepath.Abs(dir)
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}
	}
	emulator.Skip(t, name+" is not installed; put the directory of its program into "+clientsIn)
	return ""
}

// place is a home directory with a repository, a server, a model, and a hook that tells a session its program.
type place struct {
	t                *testing.T
	root, home, work string
	parley           string
	env              []string
	model            *fakemodel.Server
	server           *supervise.Service
}

func newPlace(t *testing.T, client string) *place {
	t.Helper()
	clients := needClient(t, client)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, root: root, home: filepath.Join(root, "home"), work: filepath.Join(root, "home", "work"),
		parley: filepath.Join(root, "bin", "parley"), model: fakemodel.New()}
	t.Cleanup(p.model.Close)
	if err := os.MkdirAll(p.work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := program.BuildPatient(t.Context(), p.parley); err != nil {
		t.Fatal(err)
	}
	// The hook of the test stands for parley-hook, and shows that the client runs it and reads its output.
	hook := "#!/bin/sh\ncat >/dev/null\necho \"$1 $2\" >> " + root + "/hooks.log\n" +
		"case $2 in SessionStart|UserPromptSubmit) printf '{\"hookSpecificOutput\":{\"hookEventName\":\"%s\"," +
		"\"additionalContext\":\"You are the program %s.\"}}' \"$2\" \"$1\";; esac\n"
	executabletest.Write(t, filepath.Join(root, "bin", "parley-hook"), []byte(hook))
	p.env = append(fakemodel.Quiet(), p.model.ClaudeEnv()...)
	p.env = append(p.env, "HOME="+p.home, "PATH="+clients+string(os.PathListSeparator)+os.Getenv("PATH"), "PARLEY_KEYRING=off",
		"PARLEY_DATA="+filepath.Join(root, "data"))
	p.run("git", "init", "-q")
	p.serve()
	return p
}

// serve starts the server of the place.
func (p *place) serve() {
	p.t.Helper()
	log := &supervise.Output{}
	server := supervise.Server{Path: "/v1/health", Status: http.StatusOK, Output: log, Grace: 20 * time.Second, Env: p.env,
		Args: func(addr string) []string { return []string{p.parley, "serve", "--addr", addr} }}
	s, err := server.Start(p.t.Context())
	if err != nil {
		p.t.Fatalf("%v\n%s", err, log)
	}
	p.t.Cleanup(s.Stop)
	p.server = s
}

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.root, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// getenv returns a variable of the place.
func (p *place) getenv(name string) string {
	for _, v := range p.env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// run runs a program in the repository, and returns its output.
func (p *place) run(args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if !strings.Contains(args[0], "/") { // a client is found in the PATH of the test
		for _, dir := range filepath.SplitList(p.getenv("PATH")) {
			if _, err := os.Stat(filepath.Join(dir, args[0])); err == nil {
				cmd = exec.CommandContext(ctx, filepath.Join(dir, args[0]), args[1:]...)
				break
			}
		}
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.work, p.env, time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// holds fails the test unless a text holds all words.
func (p *place) holds(what, text string, words ...string) {
	p.t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			p.t.Errorf("%s lacks %q:\n%.3000s", what, w, text)
		}
	}
}

func TestARealClaudeCodeIsConnected(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "claude")
	p.holds("connect in a directory that is not trusted", p.run(p.parley, "connect", "claude"), "todo   trust", "done   hooks")
	p.run(p.parley, "connect", "claude", "--remove")
	trust := fmt.Sprintf("{\n  \"projects\": {\n    %q: {\n      \"hasTrustDialogAccepted\": true\n    }\n  }\n}\n", p.work)
	p.write("home/.claude.json", trust)
	p.holds("connect", p.run(p.parley, "connect", "claude"), "done   check    claude mcp list says: parley", "Connected")
	if again := p.run(p.parley, "connect", "claude"); !strings.Contains(again, "up to date") {
		t.Errorf("after the client rewrote its file, connecting again changes\n%s", again)
	}
	p.run("claude", "-p", "go")
	p.holds("the first request", fmt.Sprintf("%+v", p.model.Requests()[0]), "You are the program claude.", "mcp__parley__")
	p.holds("the events", p.read("hooks.log"), "claude SessionStart\n", "claude UserPromptSubmit\n", "claude Stop\n",
		"claude SessionEnd\n")
	p.run(p.parley, "connect", "claude", "--remove")
	if text := p.read("home/.claude.json"); strings.Contains(text, "parley") || !strings.Contains(text, "hasTrustDialogAccepted") {
		t.Errorf("after the removal the client's file is\n%s", text)
	}
	if list := p.run("claude", "mcp", "list"); strings.Contains(list, "parley:") {
		t.Errorf("after the removal the client lists\n%s", list)
	}
}

func TestARealCodexIsConnected(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "codex")
	p.write("home/.codex/config.toml", p.model.CodexConfig()+"\n# mine\n")
	before := p.read("home/.codex/config.toml")
	p.holds("connect in a directory that is not trusted", p.run(p.parley, "connect", "codex"), "todo   trust", "or run it with --trust")
	p.holds("connect", p.run(p.parley, "connect", "codex", "--trust"), "done   trust", "done   check    codex mcp list says: parley")
	if again := p.run(p.parley, "connect", "codex"); !strings.Contains(again, "up to date") {
		t.Errorf("connecting again changes\n%s", again)
	}
	p.run("codex", "exec", "go")
	p.holds("the first request", fmt.Sprintf("%+v", p.model.Requests()[0]), "You are the program codex.", "mcp__parley")
	p.holds("the events", p.read("hooks.log"), "codex SessionStart\n", "codex UserPromptSubmit\n", "codex Stop\n")
	p.run("codex", "mcp", "add", "other", "--url", "http://127.0.0.1:9/")
	p.run(p.parley, "connect", "codex", "--remove")
	after := p.read("home/.codex/config.toml")
	p.holds("the user's settings", after, strings.TrimSpace(before), "[mcp_servers.other]")
	if strings.Contains(after, "parley") || strings.Contains(p.run("codex", "mcp", "list"), "parley") {
		t.Errorf("after the removal the user's settings are\n%s", after)
	}
}
