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
	"parley.internal/services/hub/internal/runner/launcher"
	"parley.internal/services/hub/internal/runner/template"
)

// Command is the command that a runner starts for a member of the team: one of the clients of agents, or a command
// line. Only the operator can set it.
type Command struct {
	// Client is claude, codex or command; empty means command where there is a command line, and otherwise the first of
	// the clients that is installed.
	Client string `json:"client"`
	// Options are given to the client as they are.
	Options []string `json:"client_args"`
	// Attach starts the client in a terminal that a person can attach to, rather than headless.
	Attach bool `json:"attach"`
	// Args is the command line, with placeholders for values from the server.
	Args template.Template `json:"command"`
	// Env is added to the variables that the command inherits; null removes one.
	Env map[string]*string `json:"env"`
	// PassEnv are the names of further variables that the command inherits from the runner. A name that ends in * stands
	// for all that begin with the rest. Variables that contain a key of Parley are left out.
	PassEnv []string `json:"pass_env"`
	// PassKey is the name of the variable that passes the member's key to the command; by default PARLEY_KEY.
	PassKey string `json:"pass_key"`

	// client is the client that was chosen; nil for a command line.
	client *launcher.Client
}

// teamVariables are those that a command line of the operator's finds, as Claude Code's own teams set them.
var teamVariables = []string{"CLAUDECODE", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"}

// ReadCommand reads a configuration file; an empty name means the client that is installed. An error tells how to correct
// the file.
func ReadCommand(file string) (*Command, error) {
	c := new(Command)
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

// SetArgs sets the command line from a flag: a JSON list as in the configuration, or the name of a program.
func (c *Command) SetArgs(text string) error {
	if !strings.HasPrefix(strings.TrimSpace(text), "[") {
		quoted, err := json.Marshal([]string{strings.NewReplacer("{", "{{", "}", "}}").Replace(text)})
		if err != nil {
			return err
		}
		text = string(quoted)
	}
	c.Client = launcher.Other
	return c.Args.UnmarshalJSON([]byte(text))
}

// Choose chooses the client, and checks that it can be started with an environment.
func (c *Command) Choose(env []string) error {
	if c.Client == "" && c.Args.Name() != "" {
		c.Client = launcher.Other
	}
	var err error
	switch c.Client {
	case launcher.Other:
		if c.client = nil; c.Args.Name() == "" {
			return errors.New("the client command needs a command line; give one with --command or in the configuration")
		}
		if c.Attach || len(c.Options) > 0 {
			return errors.New("--attach and --client-arg are for claude and codex; write the command line itself as you need it")
		}
	case "":
		c.client, err = launcher.Installed(func(name string) bool {
			_, ok := launch.Find(name, pathOf(env))
			return ok
		})
	default:
		c.client, err = launcher.Named(c.Client)
	}
	if err == nil && c.client != nil && c.keyless() {
		err = errors.New("a client reaches Parley with the key in PARLEY_KEY; do not remove that variable in env")
	}
	if err != nil {
		return err
	}
	_, err = c.find(env)
	return err
}

// Chosen returns the client that was chosen; nil for a command line.
func (c *Command) Chosen() *launcher.Client { return c.client }

// Find returns the absolute path of the program to start.
func (c *Command) Find(env []string) (string, error) { return c.find(env) }

// program returns the name of the program to start.
func (c *Command) program() string {
	if c.client != nil {
		return c.client.Program
	}
	return c.Args.Name()
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
	if c.Client != "" && c.Client != launcher.Other {
		if _, err := launcher.Named(c.Client); err != nil {
			return err
		}
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
	if file, ok := launch.Find(c.program(), pathOf(env)); ok {
		return filepath.Abs(file)
	}
	return "", launcher.Missing(c.program())
}

// pathOf returns the value of PATH.
func pathOf(env []string) string {
	path := ""
	for _, line := range env {
		if value, ok := strings.CutPrefix(line, "PATH="); ok {
			path = value
		}
	}
	return path
}
