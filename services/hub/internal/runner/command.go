package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/template"
	"parley.internal/shared/fault"
)

// Command is the command that a runner starts for a member of the team. Only the operator can set it.
type Command struct {
	// Args is the command line, with placeholders for values from the server.
	Args template.Template `json:"command"`
	// Env is added to the variables that the command inherits; null removes one.
	Env map[string]*string `json:"env"`
	// PassEnv are the names of further variables that the command inherits from the runner. A name that ends in * stands
	// for all that begin with the rest. Variables that contain a key of Parley are left out.
	PassEnv []string `json:"pass_env"`
	// PassKey is the name of the variable that passes the member's key to the command; by default PARLEY_KEY.
	PassKey string `json:"pass_key"`
}

// standard is the default configuration.
const standard = `{
  "command": ["claude", "--agent-id", "{agent_id}", "--agent-name", "{name}", "--team-name", "{team}",
    ["--agent-color", "{color}"], ["--parent-session-id", "{lead_session_id}"], ["--agent-type", "{agent_type}"],
    ["--model", "{model}"], ["{plan_mode_required?}", "--plan-mode-required"]],
  "env": {"CLAUDECODE": "1", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
}`

// ReadCommand reads a configuration file over the default configuration; an empty name means the default. An error
// tells how to correct the file.
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
		return errors.New("the file must contain exactly one JSON object")
	}
	if c.Args.Name() == "" {
		return errors.New("the command must begin with the name of a program")
	}
	for name, value := range c.Env {
		if value != nil && strings.ContainsRune(*value, 0) {
			return fmt.Errorf("the value of the variable %q must not contain NUL", name)
		}
		if err := checkVariable(name); err != nil {
			return err
		}
	}
	for _, name := range c.PassEnv {
		if err := checkVariable(strings.TrimSuffix(name, "*")); err != nil {
			return err
		}
	}
	if c.PassKey == "" {
		return nil
	}
	return checkVariable(c.PassKey)
}

func checkVariable(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return fmt.Errorf("%q is not a valid name of a variable", name)
	}
	return nil
}

// find returns the absolute path of the program. It is called for each start, because the program may come and go.
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
