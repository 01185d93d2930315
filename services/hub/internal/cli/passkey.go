package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/operator"
	"parley.internal/services/hub/internal/printable"
)

func (w *world) passkeyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "passkey", Short: "List the passkeys of a person, and remove one that was lost"}
	cmd.AddCommand(w.passkeyList(), w.passkeyRemove())
	return cmd
}

func (w *world) passkeyList() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "list", Short: "List passkeys, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operate(cmd, &c, func(o operator.Operator) error {
				found, err := o.Passkeys(cmd.Context(), user)
				if err != nil {
					return err
				}
				t := tabwriter.NewWriter(w.out, 0, 4, 2, ' ', 0)
				fmt.Fprintln(t, "ID\tNAME\tADDED\tLAST USED")
				for _, p := range found {
					used := "never"
					if !p.LastUsedAt.IsZero() {
						used = p.LastUsedAt.Format(time.RFC3339)
					}
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", printable.Line(p.ID), printable.Line(p.Name), p.CreatedAt.Format(time.RFC3339), used)
				}
				return t.Flush()
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "user of the passkeys")
	return cmd
}

func (w *world) passkeyRemove() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "remove ID", Short: "Remove a passkey that was lost, at a terminal",
		Long: "Remove a passkey, and revoke the keys of the browsers that it signed in. The settings of the console do so\n" +
			"with a passkey at hand; this command is for one that was lost, and asks for a confirmation at a terminal.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return operate(cmd, &c, func(o operator.Operator) error {
				if err := w.confirmPasskey(args[0]); err != nil {
					return err
				}
				v, err := o.DiscardPasskey(cmd.Context(), user, args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(w.out, "removed", printable.Line(v.Name))
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "user of the passkey")
	return cmd
}

// confirmPasskey asks whether a passkey shall be removed, at a terminal alone: a command that an agent runs usually has
// none.
func (w *world) confirmPasskey(id string) error {
	id = printable.Line(id)
	if !isTerminal(w.in) {
		return errors.New("a passkey is removed in the settings of the console, with a passkey; to remove one that was lost, " +
			"run this at a terminal, where you confirm it")
	}
	fmt.Fprintf(w.err, "Without a passkey, whoever has a paired device, or none is paired, adds the next one.\nType %s to "+
		"remove it: ", id)
	line, err := bufio.NewReader(w.in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != id {
		return errors.New("nothing was removed")
	}
	return nil
}
