package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/guard"
	"parley.internal/services/hub/internal/guard/githook"
	"parley.internal/services/hub/internal/printable"
)

const guardHelp = "The hooks pre-commit and pre-push of git ask the server, for at most 2 seconds, and refuse files that\n" +
	"another holds. They ask with the environment of git: PARLEY_URL, PARLEY_KEY and PARLEY_SESSION of an agent, or else with your\n" +
	"own key. Without an answer they let pass with a warning, or refuse if the project's setting is strict. Hooks that\n" +
	"are there run after the guard. No file of a hook holds a key."

func (w *world) guardCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "guard", Short: "Refuse commits and pushes of files that another holds",
		Long: "Refuse commits and pushes of files that another holds.\n\n" + guardHelp}
	cmd.AddCommand(w.guardInstallCommand(), w.guardUninstallCommand(), w.guardStatusCommand(), w.guardRunCommand())
	return cmd
}

// hooksOf returns the checkout and its directory of hooks. A directory that other repositories may share is an error,
// unless anyway is set.
func hooksOf(ctx context.Context, folder string, anyway bool) (*checkout.Checkout, string, error) {
	c, err := checkout.Find(ctx, folder)
	if err != nil {
		return nil, "", err
	}
	dir, err := c.HooksDir(ctx)
	if err != nil {
		return nil, "", err
	}
	if !anyway && !inside(c.Common, dir) && !inside(c.Root, dir) {
		return nil, "", fmt.Errorf("git takes the hooks from %s (core.hooksPath), which other repositories may share; "+
			"give --shared to change them for all of these, or set core.hooksPath for this repository", dir)
	}
	return c, dir, nil
}

// inside reports whether a path is a directory or below it.
func inside(dir, path string) bool {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (w *world) guardInstallCommand() *cobra.Command {
	var shared bool
	var url, data string
	folder := "."
	cmd := &cobra.Command{Use: "install", Short: "Add the guard to the hooks of git, before those that are there",
		Long: "Add the guard to the hooks of git, before those that are there.\n\n" + guardHelp, Args: cobra.NoArgs}
	f := cmd.Flags()
	f.StringVar(&folder, "repo", folder, "a directory in the repository")
	f.StringVar(&url, "url", "", "the server's URL where PARLEY_URL is not set, remembered in .git")
	f.StringVar(&data, "data", "", "directory of keys.env and human.env where PARLEY_DATA is not set, remembered too")
	f.BoolVar(&shared, "shared", false, "also in a directory of hooks that other repositories share")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, dir, err := hooksOf(cmd.Context(), folder, shared)
		if err != nil {
			return err
		}
		if !f.Changed("data") {
			data = "" // the directory that was found is not one to remember
		}
		if err := remember(c, url, data); err != nil {
			return err
		}
		program, inTree := "", !inside(c.Common, dir) && inside(c.Root, dir)
		if !inTree {
			if program, err = os.Executable(); err != nil {
				return err
			}
		}
		if err := githook.Install(dir, program); err != nil {
			return err
		}
		w.learn(cmd, c, data)
		if inTree {
			fmt.Fprintln(w.err, "parley: the hooks are in the worktree (core.hooksPath), where git may commit them; they find "+
				"parley by PATH")
		}
		return w.printGuard(dir)
	}
	return cmd
}

// learn asks the server for the project's settings, so that the guard of a strict project refuses also before its first
// answer. An installation does not need the server: without an answer the settings stay as they are remembered.
func (w *world) learn(cmd *cobra.Command, c *checkout.Checkout, data string) {
	f := &repoFlags{w: w, cmd: cmd, url: w.env("PARLEY_URL"), keyEnv: agentKey, session: w.env("PARLEY_SESSION")}
	f.data.StoreFlags(pflag.NewFlagSet("", pflag.ContinueOnError), w.env)
	if data != "" {
		f.data.Data = data
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), guard.Budget, fmt.Errorf("no answer within %s", guard.Budget))
	defer cancel()
	if err := f.guard(ctx, c).Learn(ctx, c); err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintln(w.err, "parley: the guard learns with its first answer whether the project is strict; it has none yet:", why)
	}
}

// remember stores where the server and a person's key are, if they are given.
func remember(c *checkout.Checkout, url, data string) (err error) {
	m := guard.Recall(c)
	if url != "" {
		if _, err := baseURL(url); err != nil {
			return err
		}
		m.URL = url
	}
	if data != "" {
		if m.Data, err = filepath.Abs(data); err != nil {
			return err
		}
	}
	if url == "" && data == "" {
		return nil
	}
	return guard.Remember(c, m)
}

func (w *world) printGuard(dir string) error {
	states, err := githook.Status(dir)
	if err != nil {
		return err
	}
	for _, name := range githook.Hooks {
		_, err := fmt.Fprintf(w.out, "%s: %s\n", printable.Line(filepath.Join(dir, name)), stateWords[states[name]])
		if err != nil {
			return err
		}
	}
	return nil
}

var stateWords = map[githook.State]string{
	githook.Absent:  "no guard",
	githook.Alone:   "guarded",
	githook.Chained: "guarded, before the hook that was there",
	githook.Idle:    "not run by git, because the file is not executable",
	githook.Broken:  "the guard was changed by hand",
}

func (w *world) guardUninstallCommand() *cobra.Command {
	var shared bool
	folder := "."
	cmd := &cobra.Command{Use: "uninstall", Short: "Remove the guard; the hooks are again as they were", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&folder, "repo", folder, "a directory in the repository")
	cmd.Flags().BoolVar(&shared, "shared", false, "also in a directory of hooks that other repositories share")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, dir, err := hooksOf(cmd.Context(), folder, shared)
		if err != nil {
			return err
		}
		if err := githook.Uninstall(dir); err != nil {
			return err
		}
		if err := guard.Forget(c); err != nil {
			return err
		}
		return w.printGuard(dir)
	}
	return cmd
}

func (w *world) guardStatusCommand() *cobra.Command {
	folder := "."
	cmd := &cobra.Command{Use: "status", Short: "Tell whether the hooks have the guard",
		Long: "Tell whether the hooks have the guard. The exit code is 0 if git runs it before commits and pushes, and 3 if not.",
		Args: cobra.NoArgs}
	cmd.Flags().StringVar(&folder, "repo", folder, "a directory in the repository")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, dir, err := hooksOf(cmd.Context(), folder, true)
		if err != nil {
			return err
		}
		states, err := githook.Status(dir)
		if err != nil {
			return err
		}
		strict := guard.Recall(c).Strict
		if *asJSON {
			err = w.document(map[string]any{"project": c.Project, "worktree": c.Worktree, "directory": dir, "hooks": states,
				"strict": strict})
		} else {
			if _, err = fmt.Fprintf(w.out, "project %s, worktree %s, strict %t\n", printable.Line(c.Project),
				printable.Line(c.Worktree), strict); err == nil {
				err = w.printGuard(dir)
			}
		}
		for _, s := range states {
			if err == nil && s != githook.Alone && s != githook.Chained {
				return exit{exitHeld, fmt.Errorf("the hooks have no guard that git runs; add it with `parley guard install`")}
			}
		}
		return err
	}
	return cmd
}

// guardRunCommand returns the command that hooks of git run, with the arguments of the hook.
func (w *world) guardRunCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "run HOOK [ARGUMENT...]", Hidden: true, Args: cobra.MinimumNArgs(1)}
	f := w.repoFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := checkout.InHook(cmd.Context(), f.folder)
		if err != nil {
			return err
		}
		var paths []string
		what := "the commit"
		switch {
		case args[0] == "pre-commit":
			paths, err = c.Staged(cmd.Context())
		case args[0] == "pre-push" && len(args) > 1:
			what = "the push"
			paths, err = c.Pushed(cmd.Context(), args[1], w.in)
		default:
			err = fmt.Errorf("the hook must be pre-commit, or pre-push with the name of a remote")
		}
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), guard.Budget, fmt.Errorf("no answer within %s", guard.Budget))
		defer cancel()
		return w.tell(f.guard(ctx, c).Decide(ctx, c, paths), what, len(paths))
	}
	return cmd
}

// guard returns the guard that asks with the environment's key, or with the key of the remembered installation. A
// keyring must give a key before ctx ends.
func (f *repoFlags) guard(ctx context.Context, c *checkout.Checkout) *guard.Guard {
	m := guard.Recall(c)
	if f.url == "" {
		f.url = m.URL
	}
	if f.w.env("PARLEY_DATA") == "" && !f.cmd.Flags().Changed("data") && m.Data != "" {
		f.data.Data = m.Data
	}
	r, err := f.connect(ctx, c)
	if err != nil {
		return &guard.Guard{Trouble: err}
	}
	return &guard.Guard{Server: r, Agent: r.agent, Session: r.session}
}

// tell prints a decision, and returns an error with the exit code 3 if it is a refusal.
func (w *world) tell(d guard.Decision, what string, files int) error {
	for i, line := range d.Reason {
		switch {
		case d.Verdict == guard.Warn:
			fmt.Fprintln(w.err, "parley guard: warning:", line)
		case i == 0 && len(d.Held) > 0:
			fmt.Fprintf(w.err, "parley guard: %s is refused, because others hold %d of its %d files:\n  %s\n", what, len(d.Held),
				files, line)
		case i == 0:
			fmt.Fprintf(w.err, "parley guard: %s is refused:\n  %s\n", what, line)
		default:
			fmt.Fprintf(w.err, "  %s\n", line)
		}
	}
	if d.Verdict != guard.Deny {
		return nil
	}
	return exit{exitHeld, nil}
}
