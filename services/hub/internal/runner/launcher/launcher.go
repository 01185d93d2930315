package launcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/shared/fault"
)

// ServerName is the name of Parley among a client's MCP servers. The client's names of tools begin with it.
const ServerName = "parley"

// Client is a client of agents that can be started. The zero value is none.
type Client struct {
	// Name is the value for the flag --client, and Program the program that is started.
	Name, Program string
	// Advice follows the message that the program is missing.
	Advice string
	// SignIn are the variables with which the client finds its model and its settings. A name that ends in * stands for
	// all that begin with the rest.
	SignIn []string
	// Limits says that the client can be told how many turns and dollars it may spend.
	Limits bool

	headless, interactive func(Work) (args []string, err error)
	outcome               func(output []byte) Outcome
}

// The clients, in the order in which an installed one is chosen.
var clients = []*Client{&claude, &codex}

// Names are the names of the clients, and of any other command.
const Names = "claude, codex, command"

// Other is the name that stands for a command of the operator's own.
const Other = "command"

// Named returns the client with a name. Other is none of them.
func Named(name string) (*Client, error) {
	for _, c := range clients {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fault.New(fault.Invalid, "there is no client %q; the clients are %s", name, Names)
}

// Installed returns the first client that find finds.
func Installed(find func(program string) bool) (*Client, error) {
	for _, c := range clients {
		if find(c.Program) {
			return c, nil
		}
	}
	return nil, fault.New(fault.Precondition, "Could not find '%s' binary on PATH. %s Codex is not there either: install it "+
		"instead, or name another program with --command.", claude.Program, claude.Advice)
}

// Missing is the fault of a program that is not on PATH.
func Missing(program string) error {
	advice := ""
	for _, c := range clients {
		if c.Program == filepath.Base(program) {
			advice = " " + c.Advice
		}
	}
	return fault.New(fault.Precondition, "Could not find '%s' binary on PATH.%s", program, advice)
}

// SignIn returns the variables with which a program that is a client finds its model; nil for any other.
func SignIn(program string) []string {
	for _, c := range clients {
		if c.Program == filepath.Base(program) {
			return c.SignIn
		}
	}
	return nil
}

// Work is a piece of work for which a client is started.
type Work struct {
	// Prompt is the instruction for the agent.
	Prompt string
	// Private is the absolute path of the directory for the files of this start.
	Private string
	// URL is the MCP endpoint, and KeyVariable the variable of the client's environment that holds its key.
	URL, KeyVariable string
	// Model is the client's name of a model; empty means the client's default.
	Model string
	// Plan says that the agent may plan and not change anything.
	Plan bool
	// Session is the client's session that goes on; empty begins one.
	Session string
	// Turns and Dollars bound the work where the client can be told so; zero does not.
	Turns   int
	Dollars float64
	// Record makes the client write its outcome in the form that [Client.Outcome] reads.
	Record bool
	// Options are the operator's options of the client itself.
	Options []string
}

// Start is how a client is started.
type Start struct {
	// Args is the command line, with the name of the program.
	Args []string
	// Stdin is the file for its standard input; empty means none.
	Stdin string
}

// The files of a start in its private directory.
const (
	promptFile = "prompt"
	mcpFile    = "mcp.json"
)

// Headless prepares a start without a terminal: the client works on the prompt and ends.
func (c *Client) Headless(w Work) (Start, error) {
	if err := c.check(w); err != nil {
		return Start{}, err
	}
	args, err := c.headless(w)
	if err != nil {
		return Start{}, err
	}
	file, err := WritePrompt(w.Private, w.Prompt)
	return Start{Args: append([]string{c.Program}, args...), Stdin: file}, err
}

// maxArgument is the length in bytes past which Linux refuses an argument.
const maxArgument = 128 << 10

// Interactive prepares a start in a terminal: the client begins with the prompt and stays for the person who attaches.
func (c *Client) Interactive(w Work) (Start, error) {
	if err := c.check(w); err != nil {
		return Start{}, err
	}
	if len(w.Prompt) >= maxArgument || strings.ContainsRune(w.Prompt, 0) {
		return Start{}, errors.New("the prompt is too long for an argument or contains NUL; start the member without --attach")
	}
	args, err := c.interactive(w)
	return Start{Args: append([]string{c.Program}, args...)}, err
}

// check returns an error for a value from the server that could be taken for an option, or for a bound that the client
// does not know.
func (c *Client) check(w Work) error {
	for what, text := range map[string]string{"model": w.Model, "session": w.Session} {
		if strings.HasPrefix(text, "-") || strings.ContainsRune(text, 0) {
			return fmt.Errorf("the %s %.80q must not begin with -, because it could be taken for an option, nor contain NUL",
				what, text)
		}
	}
	return c.CheckLimits(w.Turns, w.Dollars)
}

// CheckLimits returns an error if the client cannot be told a bound that is not zero.
func (c *Client) CheckLimits(turns int, dollars float64) error {
	if (turns != 0 || dollars != 0) && !c.Limits {
		return fmt.Errorf("%s has no limit of turns or dollars for one run; leave out --max-turns and --budget", c.Name)
	}
	return nil
}

// Outcome reads the outcome of a headless client that was started with Work.Record from its output.
func (c *Client) Outcome(output []byte) Outcome { return c.outcome(output) }

// WritePrompt writes a prompt to a file of the private directory and returns its path.
func WritePrompt(private, prompt string) (string, error) {
	return write(private, promptFile, prompt)
}

func write(private, name, text string) (string, error) {
	file := filepath.Join(private, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("cannot write a file of the start: %w", err)
	}
	return file, nil
}

// Endpoint returns the URL of the MCP endpoint of a server for a list of toolsets; an empty list means the server's
// default.
func Endpoint(base, toolsets string) string {
	if toolsets == "" {
		return base + "/mcp"
	}
	return base + "/mcp?toolsets=" + toolsets
}
