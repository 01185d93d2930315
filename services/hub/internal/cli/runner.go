package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/runner"
	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/services/hub/internal/runner/launcher"
	"parley.internal/shared/client"
)

// runnerChild is the hidden command that a runner starts before it tells the process which command to become.
const runnerChild = "runner-child"

// runnerPane is the hidden command that a runner starts for a member in a terminal.
const runnerPane = "runner-pane"

// runnerFlags are the flags of the runner command.
type runnerFlags struct {
	team, url, keyEnv, root, config string
	clientFlags
	attach bool
}

// clientFlags say which client of agents is started, and how, and where its state and logs are.
type clientFlags struct {
	client, command, state string
	options                []string
	grace                  time.Duration
}

// add adds the flags to a command that starts clients. In the help texts a client is named who, such as "a member", and
// each thing, such as "team", has one state directory.
func (f *clientFlags) add(fl *pflag.FlagSet, who, thing string) {
	fl.StringVar(&f.client, "client", "",
		"the client to start: "+launcher.Names+"; by default claude or else codex, whichever is installed")
	fl.StringArrayVar(&f.options, "client-arg", nil,
		"an option for the client itself, such as --client-arg=--permission-mode=acceptEdits; repeat it for more")
	fl.StringVar(&f.command, "command", "",
		`another command to start in place of a client: a program's name, or a JSON list such as '["agent", "{prompt_file}"]'`)
	fl.StringVar(&f.state, "state", "", "directory of its state and the logs of "+who+"; by default one for the server and "+
		thing+" under the user's state directory")
	fl.DurationVar(&f.grace, "grace", 10*time.Second, "time that "+who+" has to end before it is killed")
}

// checkGrace returns an error for a time that cannot be meant.
func (f *clientFlags) checkGrace() error {
	if f.grace <= 0 {
		return fmt.Errorf("--grace must be more than 0, not %v", f.grace)
	}
	return nil
}

// stateIn returns the directory of the state: that of the flag, or one under the user's state directory for a kind of
// command, the server and a name.
func (f *clientFlags) stateIn(w *world, kind, name, base string) (string, error) {
	if f.state != "" {
		return filepath.Abs(f.state)
	}
	dir, err := w.stateHome()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "parley", kind, fmt.Sprintf("%s-%x", name, sha256.Sum256([]byte(base)))[:len(name)+13]), nil
}

func (w *world) runnerCommand() *cobra.Command {
	var f runnerFlags
	cmd := &cobra.Command{Use: "runner", Short: "Start and supervise the members of a team on this machine",
		Args: cobra.NoArgs,
		Long: "Start the members of a team on this machine as they are spawned, and supervise them. The output of\n" +
			"each member goes to a log file, and its exit status with its last lines to the lead. A forced end\n" +
			"also ends the processes that the member started. A runner that is stopped ends its members; after a\n" +
			"kill, the next runner with the same --state takes over.\n\n" +
			"A member is Claude Code or Codex without a terminal: it works on its prompt, with a key and a\n" +
			"connection to Parley of its own, and ends. It may use Parley's tools; what else it may do is for the\n" +
			"client's own settings and for --client-arg to say.\n\n" +
			"Members do not inherit the runner's environment but PATH, HOME and a few other variables, and those\n" +
			"that the configuration names.",
		Example: "  parley runner --team core --root ~/work\n" +
			"  parley runner --team core --root ~/work --client codex --client-arg=--sandbox=workspace-write\n" +
			"  parley runner --team core --root ~/work --command '[\"my-agent\", \"--name\", \"{name}\", \"{prompt_file}\"]'",
		RunE: func(cmd *cobra.Command, _ []string) error { return w.runRunner(cmd.Context(), f) }}
	def := w.env("PARLEY_URL")
	if def == "" {
		def = "http://127.0.0.1:3001"
	}
	fl := cmd.Flags()
	fl.StringVar(&f.team, "team", "", "the team's name (required)")
	fl.StringVar(&f.url, "url", def, "the server's URL (PARLEY_URL)")
	fl.StringVar(&f.keyEnv, "key-env", "PARLEY_KEY", "the variable that holds the key")
	fl.StringVar(&f.root, "root", "", "directory under which members may work (required)")
	fl.StringVar(&f.config, "config", "",
		"JSON file with what to start and its environment; the flags here win over it")
	f.add(fl, "a member", "team")
	fl.BoolVar(&f.attach, "attach", false, "start the client in a terminal of tmux, to which you can attach")
	_ = cmd.MarkFlagRequired("team")
	_ = cmd.MarkFlagRequired("root")
	return cmd
}

func (w *world) runRunner(ctx context.Context, f runnerFlags) (err error) {
	if !launch.Supported {
		return fmt.Errorf("parley runner is not supported on %s; run it on Linux or macOS", runtime.GOOS)
	}
	// The members run as the same user and could read the runner's keys.
	if err := launch.Protect(); err != nil {
		return fmt.Errorf("cannot hide the runner's memory from other processes: %w", err)
	}
	key := strings.TrimSpace(w.env(f.keyEnv))
	if key == "" {
		return fmt.Errorf("the variable %s holds no key; set it, or name another with --key-env", f.keyEnv)
	}
	base, err := baseURL(f.url)
	if err != nil {
		return err
	}
	if err := f.checkGrace(); err != nil {
		return err
	}
	root, err := existingDir("--root", f.root)
	if err != nil {
		return err
	}
	command, err := f.chosen()
	if err != nil {
		return err
	}
	state, err := w.runnerState(f, base)
	if err != nil {
		return err
	}
	kept, err := journal.Open(state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	self, err := executable()
	if err != nil {
		return err
	}
	calls, err := client.New(base, key, client.WithUserAgent("parley-runner/"+Version))
	if err != nil {
		return err
	}
	r := &runner.Runner{
		Server: &hub.Team{Client: calls, Name: f.team, Key: key, KeyFrom: "the variable " + f.keyEnv,
			Runner: kept.ID()},
		Journal: kept, Command: command, URL: base, Team: f.team, Key: key, Root: root, Env: os.Environ(),
		Child: []string{self, runnerChild}, Pane: []string{self, runnerPane, "--"},
		Times: runner.Times{Grace: f.grace}, Log: slog.New(slog.NewTextHandler(w.err, nil)), Now: time.Now,
	}
	return r.Run(ctx)
}

// chosen returns the command that the configuration and the flags choose.
func (f *runnerFlags) chosen() (*runner.Command, error) {
	command, err := runner.ReadCommand(f.config)
	if err != nil {
		return nil, err
	}
	command.Attach = command.Attach || f.attach
	if err := f.apply(command); err != nil {
		return nil, err
	}
	if command.Attach {
		return command, launcher.CheckTerminal()
	}
	return command, nil
}

// apply lets the flags win over a configuration.
func (f *clientFlags) apply(command *runner.Command) error {
	command.Options = append(command.Options, f.options...)
	if f.client != "" {
		command.Client = f.client
	}
	if f.command == "" {
		return nil
	}
	if f.client != "" && f.client != launcher.Other {
		return fmt.Errorf("--command is for the client %s, not %s; leave out one of the two", launcher.Other, f.client)
	}
	if err := command.SetArgs(f.command); err != nil {
		return fmt.Errorf("--command: %w", err)
	}
	return nil
}

// existingDir returns the absolute path of the directory that a flag names, with symbolic links resolved.
func existingDir(flag, dir string) (string, error) {
	const advice = "give a directory that exists"
	if dir == "" {
		return "", errors.New(flag + " must not be empty; " + advice)
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w; %s", flag, err, advice)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s: %s is not a directory; %s", flag, dir, advice)
	}
	return abs, nil
}

// runnerState returns the directory of the runner's state: that of the flag, or one of its own for each server and
// team.
func (w *world) runnerState(f runnerFlags, base string) (string, error) {
	if f.state == "" && !journal.ValidName(f.team) {
		return "", fmt.Errorf("%q is not the name of a team; use only letters, numbers, hyphens, underscores", f.team)
	}
	return f.stateIn(w, "runner", f.team, base)
}

// stateHome returns the user's state directory.
func (w *world) stateHome() (string, error) {
	if dir := w.env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home := w.env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("HOME must be an absolute path; set it, or give a directory for its state with --state")
	}
	return filepath.Join(home, ".local", "state"), nil
}

// executable returns the path of this program. On Linux the path stays valid after an upgrade replaced the file.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// runnerChildCommand returns the hidden command of a member's process, which waits for its runner and then becomes the
// member.
func (w *world) runnerChildCommand() *cobra.Command {
	return &cobra.Command{Use: runnerChild, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return launch.Child()
		}}
}

// runnerPaneCommand returns the hidden command of a member's terminal.
func (w *world) runnerPaneCommand() *cobra.Command {
	return &cobra.Command{Use: runnerPane, Hidden: true, Args: cobra.MinimumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := launcher.RunPane(cmd.Context(), args[0], args[1], args[2:], w.out)
			if code == 0 && err == nil {
				return nil
			}
			return exit{code: code, err: err}
		}}
}
