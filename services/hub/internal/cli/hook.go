package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/process"
)

// hookCommand returns the command that does the same as parley-hook.
func (w *world) hookCommand() *cobra.Command {
	return &cobra.Command{Use: "hook CLIENT EVENT --connection ID", Short: "Answer a hook of an agent's client, as parley-hook does",
		Long: "Answer a hook of an agent's client: claude, codex or gemini, with the client's JSON on standard input. The\n" +
			"hook that `parley connect` installs is parley-hook, which does the same and starts faster. EVENT is the client's\n" +
			"own name of the event, or wait, which holds until there is mail that wakes the agent, or watch, which prints a\n" +
			"line for each.",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			if code := process.Own(w.env, w.in, w.out, w.err).Run(cmd.Context(), args); code != 0 {
				return exit{code, nil}
			}
			return nil
		}}
}

// connectdCommand returns the command that hooks start.
func (w *world) connectdCommand() *cobra.Command {
	return &cobra.Command{Use: "connectd", Short: "Hold the connection to the server for all agents' sessions of this machine",
		Long: "Hold the connection to the server for all agents' sessions of this user on this machine. The first hook starts it, and\n" +
			"it ends when the last session has. `parley connect --status` shows its state, and `parley connect --stop` ends it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := connectd.Run(cmd.Context(), connectd.Options{Env: w.env, Log: w.err, Slack: process.Slack()})
			if errors.Is(err, connectd.ErrRuns) {
				return nil
			}
			return err
		}}
}
