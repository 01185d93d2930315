package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/shared/identity"
	"parley.internal/shared/pauses"
)

// scopes are the words of the command line for the scopes of a pause.
const scopes = "everything, or one of program, agent, team and project with its NAME; an agent is named by its session's " +
	"address, such as claude/2"

func (w *world) pauseCommand() *cobra.Command {
	var words string
	cmd := &cobra.Command{Use: "pause everything|SCOPE NAME", Short: "Halt agents until you resume them",
		Long: "Halt agents: their claims and messages are refused, with your words, until `parley resume`. Reports on work in\n" +
			"progress and waits go on.\n\nSCOPE NAME is " + scopes + ".",
		Example: "  parley pause everything --words 'Back at two.'\n  parley pause program claude\n  parley pause agent claude/2",
		Args:    cobra.RangeArgs(1, 2)}
	connect := w.humanFlags(cmd)
	cmd.Flags().StringVar(&words, "words", "", "the message to the agents")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		scope, name := scopeOf(args)
		p, err := h.PauseAgents(cmd.Context(), pauses.Input{Scope: scope, Name: name, Words: words})
		if err != nil {
			return h.explain(cmd.Context(), err)
		}
		_, err = fmt.Fprintf(w.out, "Paused: %s.\n", describePause(p, h.now()))
		return err
	}
	return cmd
}

func (w *world) resumeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "resume everything|SCOPE NAME", Short: "Let paused agents go on",
		Long: "End a pause. SCOPE NAME is as it was paused: " + scopes + ".", Args: cobra.RangeArgs(1, 2)}
	connect := w.humanFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		scope, name := scopeOf(args)
		out, err := h.ResumeAgents(cmd.Context(), pauses.ResumeInput{Scope: scope, Name: name})
		if err != nil {
			return h.explain(cmd.Context(), err)
		}
		_, err = fmt.Fprintf(w.out, "Resumed: %s.\n", describePause(out.Resumed, h.now()))
		for _, p := range out.Remaining {
			if err == nil {
				_, err = fmt.Fprintf(w.out, "Still paused: %s.\n", describePause(p, h.now()))
			}
		}
		return err
	}
	return cmd
}

func (w *world) pausesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "pauses", Short: "List the pauses", Args: cobra.NoArgs}
	connect := w.humanFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		return w.printPauses(cmd.Context(), h)
	}
	return cmd
}

func (w *world) printPauses(ctx context.Context, h *human) error {
	out, err := h.ListPauses(ctx, pauses.ListInput{})
	if err != nil {
		return h.explain(ctx, err)
	}
	if len(out.Pauses) == 0 {
		_, err = fmt.Fprintln(w.out, "Nothing is paused.")
	}
	for _, p := range out.Pauses {
		if err == nil {
			_, err = fmt.Fprintf(w.out, "Paused: %s.\n", describePause(p, h.now()))
		}
	}
	return err
}

// scopeOf returns the scope and the name that the arguments give. The server refuses a scope and a name that do not fit
// together.
func scopeOf(args []string) (identity.PauseScope, string) {
	return identity.PauseScope(args[0]), strings.Join(args[1:], "")
}

// describePause returns a line about a pause, such as: the program "claude" for 5m0s, by human:0123 ("lunch").
func describePause(p pauses.View, now time.Time) string {
	what := identity.Pause{Scope: p.Scope, Name: p.Name}.String()
	text := fmt.Sprintf("%s for %s, by %s", what, max(0, now.Sub(p.At)).Round(time.Second), p.By)
	if p.Words != "" {
		text += fmt.Sprintf(" (%q)", p.Words)
	}
	return text
}
