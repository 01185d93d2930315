package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/template"
	"parley.internal/shared/fault"
)

// Command is what a runner starts for a teammate. It is the operator's alone.
type Command struct {
	// Args is the command with places for what the server says.
	Args template.Template `json:"command"`
	// Env is added to the environment that the runner has; null takes a variable away.
	Env map[string]*string `json:"env"`
	// PassKey is a variable that gives the runner's own key to the command. Where it is empty, no variable that holds
	// the key is passed on.
	PassKey string `json:"pass_key"`
}

const standard = `{
  "command": ["claude", "--agent-id", "{agent_id}", "--agent-name", "{name}", "--team-name", "{team}",
    ["--agent-color", "{color}"], ["--parent-session-id", "{lead_session_id}"], ["--agent-type", "{agent_type}"], ["--model", "{model}"],
    ["{plan_mode_required?}", "--plan-mode-required"]],
  "env": {"CLAUDECODE": "1", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
}`

// ReadCommand reads a configuration over the standard one; no file is none. Its error says what to change.
func ReadCommand(file string) (*Command, error) {
	c := new(Command)
	if err := c.read([]byte(standard)); err != nil {
		return nil, err
	}
	if file == "" {
		return c, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	if err := c.read(text); err != nil {
		return nil, fmt.Errorf("the configuration %s: %w", file, err)
	}
	return c, nil
}

func (c *Command) read(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there must be one JSON object and nothing behind it")
	}
	if c.Args.Name() == "" {
		return errors.New("the command must begin with the name of a program")
	}
	for name, value := range c.Env {
		if value != nil && strings.ContainsRune(*value, 0) {
			return fmt.Errorf("the variable %q holds a NUL", name)
		}
		if err := variable(name); err != nil {
			return err
		}
	}
	if c.PassKey == "" {
		return nil
	}
	return variable(c.PassKey)
}

func variable(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return fmt.Errorf("%q is no name of a variable", name)
	}
	return nil
}

// environment is the command's, of the runner's: without any variable that holds the runner's key, unless it is to be
// passed on.
func (c *Command) environment(own []string, key string) []string {
	vars := map[string]string{}
	for _, line := range own {
		if name, value, ok := strings.Cut(line, "="); ok && (key == "" || !strings.Contains(value, key)) {
			vars[name] = value
		}
	}
	for name, value := range c.Env {
		if value == nil {
			delete(vars, name)
			continue
		}
		vars[name] = *value
	}
	if c.PassKey != "" {
		vars[c.PassKey] = key
	}
	out := make([]string, 0, len(vars)+1)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if name != "PWD" {
			out = append(out, name+"="+vars[name])
		}
	}
	return out
}

// find is the program, now: it may have come or gone since the runner began.
func (c *Command) find(env []string) (string, error) {
	path := ""
	for _, line := range env {
		if value, ok := strings.CutPrefix(line, "PATH="); ok {
			path = value
		}
	}
	name := c.Args.Name()
	if file, ok := launch.Find(name, path); ok {
		return filepath.Abs(file)
	}
	advice := ""
	if name == "claude" {
		advice = " Install Claude Code or ensure it is in your PATH."
	}
	return "", fault.New(fault.Precondition, "Could not find '%s' binary on PATH.%s", name, advice)
}
