package connect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// trustPatience is the time limit of Codex's answer.
const trustPatience = 20 * time.Second

// TrialTrust are lines like those that [CodexTrust] returns, by which a plan tells whether the user's settings can be edited.
const TrialTrust = "[hooks.state.\"parley-trial\"]\ntrusted_hash = \"\"\n"

// Trusted is Codex's answer about the hooks of a connection.
type Trusted struct {
	// Lines are lines for the user's settings, which make Codex run the hooks.
	Lines string
	// Listed is the number of hooks that Codex knows of; it knows none in a directory that is not trusted.
	Listed int
}

// CodexTrust asks an installed Codex for the hooks of a connection in a place. Hooks that a person trusted already need no
// lines. With project set, or where it was before, the lines also make Codex trust the repository, unless its settings
// say something about that already.
func CodexTrust(ctx context.Context, home string, p Place, id string, project bool) (Trusted, error) {
	dir := p.Root
	if p.User() {
		dir = p.Home
	}
	hooks, err := codexHooks(ctx, dir, p.Home)
	if err != nil {
		return Trusted{}, fmt.Errorf("codex does not list its hooks: %w", err)
	}
	r, err := readRecord(home, id)
	if err != nil {
		return Trusted{}, err
	}
	earlier := r.body(id + "-trust")
	var out Trusted
	if lines := codexProject(p.Main); !p.User() && (project && !decided(p, id) || strings.Contains(earlier, lines)) {
		out.Lines = lines
	}
	for _, h := range hooks {
		table := "[hooks.state." + tomlText(h.Key) + "]\n"
		if !names(map[string]any{"command": h.Command}, id) {
			continue
		}
		out.Listed++
		if h.TrustStatus == "trusted" && !strings.Contains(earlier, table) {
			continue
		}
		out.Lines += table + "trusted_hash = " + tomlText(h.CurrentHash) + "\n"
	}
	return out, nil
}

// codexProject returns the lines that make Codex trust a directory.
func codexProject(dir string) string {
	return "[projects." + tomlText(dir) + "]\ntrust_level = \"trusted\"\n"
}

// decided reports whether the user's settings say by themselves whether the repository is trusted.
func decided(p Place, id string) bool {
	text, err := os.ReadFile(filepath.Join(CodexHome(p), "config.toml"))
	if err == nil {
		text, err = hash.style().Remove(text, id+"-trust")
	}
	var c struct {
		Projects map[string]any `toml:"projects"`
	}
	return err == nil && toml.Unmarshal(text, &c) == nil && c.Projects[p.Main] != nil
}

type codexHook struct {
	Key         string `json:"key"`
	Command     string `json:"command"`
	CurrentHash string `json:"currentHash"`
	TrustStatus string `json:"trustStatus"`
}

// codexHooks speaks with Codex's server over its standard input and output.
func codexHooks(ctx context.Context, dir, home string) ([]codexHook, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, trustPatience, fmt.Errorf("no answer within %s", trustPatience))
	defer cancel()
	cmd := exec.CommandContext(ctx, codex.Program, "app-server")
	cmd.Dir, cmd.WaitDelay, cmd.Env = dir, time.Second, append(os.Environ(), "HOME="+home)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		in.Close()
		cancel()
		_ = cmd.Wait() // it was told to end
	}()
	where, err := json.Marshal(dir)
	if err != nil {
		return nil, err
	}
	ask := []string{
		`{"id":0,"method":"initialize","params":{"clientInfo":{"name":"parley","title":"Parley","version":"1"},` +
			`"capabilities":{"experimentalApi":true}}}`,
		`{"method":"initialized"}`,
		`{"id":1,"method":"hooks/list","params":{"cwds":[` + string(where) + `]}}`,
	}
	if _, err := in.Write([]byte(strings.Join(ask, "\n") + "\n")); err != nil {
		return nil, err
	}
	hooks, err := readHooks(out)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return hooks, err
}

// readHooks reads the answer with the hooks among those of Codex's server.
func readHooks(out io.Reader) ([]codexHook, error) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var answer struct {
			ID     *int `json:"id"`
			Result struct {
				Data []struct {
					Hooks []codexHook `json:"hooks"`
				} `json:"data"`
			} `json:"result"`
			Error *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(lines.Bytes(), &answer) != nil || answer.ID == nil || *answer.ID != 1 {
			continue
		}
		if answer.Error != nil {
			return nil, errors.New(answer.Error.Message)
		}
		var hooks []codexHook
		for _, d := range answer.Result.Data {
			hooks = slices.Concat(hooks, d.Hooks)
		}
		return hooks, nil
	}
	return nil, errors.Join(errors.New("it ended without an answer"), lines.Err())
}
