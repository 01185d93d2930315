package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/cloud"
	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/services/hub/internal/runner/launch"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// Version is the version of the binary. The build sets it; if it is empty, the version of the module is shown.
var Version string

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// world is the environment and the standard streams of a command.
type world struct {
	env      func(string) string
	in       io.Reader
	out, err io.Writer
	// watched means that err is a terminal.
	watched bool
}

// next is the answer to a command line without arguments.
const next = `Parley is the meeting ground for AI agents. What to do next:

  parley serve             start a server on this machine; it prints its URL and the first keys
  parley connect claude    let Claude Code in this directory join it (or codex, gemini, cursor, all, …)
  parley link --console    open the console in a browser: see every agent, answer questions
  parley top               the same in this terminal
  parley doctor            find out why something does not work
  parley update            how to update this program, and whether a newer release exists

"parley help" lists all commands, and "parley help COMMAND" explains one.
`

// Run runs the command line args, without the name of the program, and returns the exit code: 0, or 1 after an error,
// which it writes to errOut, 2 where flags or arguments are wrong, or the code that a command documents. The text for
// errOut is escaped for a terminal. The end of ctx interrupts the command.
func Run(ctx context.Context, args []string, env func(string) string, in io.Reader, out, errOut io.Writer) int {
	watched := isTerminal(errOut)
	errOut = printable.Writer{To: errOut}
	w := &world{env, in, out, errOut, watched}
	root := w.commands()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		var own exit
		if errors.As(err, &own) {
			if own.err != nil {
				fmt.Fprintln(errOut, "parley:", own.err)
			}
			return own.code
		}
		fmt.Fprintln(errOut, "parley:", err)
		return 1
	}
	return 0
}

// commands returns the command parley with all below it.
func (w *world) commands() *cobra.Command {
	root := &cobra.Command{Use: "parley", Short: "The meeting ground for AI agents", Version: version(), Args: known,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error { _, err := io.WriteString(w.out, next); return err }}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(w.in)
	root.SetOut(w.out)
	root.SetErr(w.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(w.serveCommand(), w.keyCommand(), w.passkeyCommand(), w.stdioCommand(), w.questionsCommand(), w.answerCommand(),
		w.topCommand(), w.linkCommand(), w.teamCommand(), w.runnerCommand(), w.runnerChildCommand(),
		w.runnerPaneCommand(), w.agentCommand(), w.doctorCommand(),
		w.pauseCommand(), w.resumeCommand(), w.pausesCommand(), w.filesCommand(), w.guardCommand(),
		w.hookCommand(), w.connectdCommand(), w.exportCommand(), w.deleteCommand(), w.backupCommand(), w.restoreCommand(), &cobra.Command{
			Use: "version", Short: "Print the version", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { _, err := fmt.Fprintln(w.out, version()); return err },
		})
	root.AddCommand(w.connectCommand(), w.tasksCommand(), w.taskCommand(), w.sendCommand(), w.mailCommand(), w.alertsCommand(),
		w.agentsCommand(), w.searchCommand(), w.eventsCommand(), w.serviceCommand(), w.updateCommand())
	root.SetHelpCommand(helpCommand())
	distinguish(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := refusal(cmd, launch.Supported, runtime.GOOS); err != nil {
			return err
		}
		return w.chooseData(cmd)
	}
	return root
}

// storeFile is the name of the embedded store's file in the data directory.
const storeFile = "parley.db"

// opened is an open store. file is the SQLite driver, nil for Firestore.
type opened struct {
	db     *store.DB
	schema *store.Schema
	file   *sqlite.Driver
}

// waits lets the store hold as many waits as the server admits: a call waits for changes of up to three collections, and
// its waits may overlap for a moment.
func waits(c *config.Config) store.Option { return store.WaitLimits(0, max(4096, 4*c.Waits)) }

// open opens the store, whose calls over the network are traced. The caller has the data directory of an embedded one.
func open(ctx context.Context, c *config.Config, tracer *cloud.Tracer) (*opened, error) {
	o := &opened{schema: app.Schema()}
	if c.Store == "firestore" {
		d, err := cloud.OpenStore(ctx, c.Project, c.EmulatorHost, tracer)
		if err != nil {
			return nil, fmt.Errorf("cannot open Firestore in project %s: %w", c.Project, err)
		}
		o.db = store.New(d, o.schema, waits(c))
		return o, nil
	}
	d, err := sqlite.Open(ctx, filepath.Join(c.Data, storeFile), o.schema)
	if err != nil {
		return nil, err
	}
	o.file, o.db = d, store.New(d, o.schema, waits(c))
	return o, nil
}
