package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/operator"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/services/hub/internal/teamdir"
	"parley.internal/shared/identity"
)

func (w *world) teamCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "team", Short: "Import and export teams, with or without a running server"}
	cmd.AddCommand(w.teamImport(), w.teamExport())
	return cmd
}

func (w *world) teamImport() *cobra.Command {
	var c config.Config
	var user, program string
	cmd := &cobra.Command{Use: "import DIR", Args: cobra.ExactArgs(1),
		Short: "Create a team from a directory: config.json, inboxes/*.json and tasks/*.json; of teams/T also tasks/T beside it",
		RunE: func(cmd *cobra.Command, args []string) error {
			if program != "" && !identity.ValidName(program) {
				return fmt.Errorf("--program must be 1 to 100 letters, digits, dots, underscores and hyphens, not %q",
					program)
			}
			a, from, err := teamdir.Read(args[0])
			if err != nil {
				return err
			}
			return operateNew(cmd, &c, func(o operator.Operator) error {
				if err := o.ImportTeam(cmd.Context(), user, program, a); err != nil {
					return err
				}
				if len(from.Ignored) > 0 {
					fmt.Fprintln(w.err, "ignored unknown fields: "+printable.EscapeLine(strings.Join(from.Ignored, ", ")))
				}
				for _, dir := range from.Tasks {
					fmt.Fprintln(w.err, "tasks from "+printable.Line(dir))
				}
				_, err := fmt.Fprintf(w.out, "imported %s: %d members, %d inboxes, %d tasks\n", printable.Line(a.Name),
					len(a.Members), len(a.Inboxes), len(a.Tasks))
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "user of the team")
	cmd.Flags().StringVar(&program, "program", "", "the program that leads the team; by default none")
	return cmd
}

func (w *world) teamExport() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "export TEAM DIR",
		Short: "Write a team to a new directory, in the form that import reads",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return operate(cmd, &c, func(o operator.Operator) error {
				a, err := o.ExportTeam(cmd.Context(), user, args[0])
				if err != nil {
					return err
				}
				if err := teamdir.Write(args[1], a); err != nil {
					return err
				}
				_, err = fmt.Fprintf(w.out, "exported %s: %d members, %d inboxes, %d tasks\n", printable.Line(a.Name),
					len(a.Members), len(a.Inboxes), len(a.Tasks))
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "user of the team")
	return cmd
}
