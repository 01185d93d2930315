package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/operator"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

func (w *world) keyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Create, list and revoke keys, with or without a running server"}
	cmd.AddCommand(w.keyCreate(), w.keyList(), w.keyRevoke(), w.keyHuman())
	return cmd
}

func (w *world) keyCreate() *cobra.Command {
	var c config.Config
	var user, kind, scopes string
	var in keys.CreateInput
	var expires time.Duration
	cmd := &cobra.Command{Use: "create", Short: "Create a key and print it, this once", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in.Kind, in.Expires = identity.KeyKind(kind), int64(expires.Seconds())
			if expires < 0 || (expires > 0 && expires < time.Second) {
				return fmt.Errorf("--expires must be at least 1s, not %v", expires)
			}
			if scopes != "" {
				in.Scopes = strings.Split(scopes, ",")
			}
			return operateNew(cmd, &c, func(o operator.Operator) error {
				if err := w.confirmUser(cmd.Context(), o, user); err != nil {
					return err
				}
				out, err := o.Issue(cmd.Context(), user, in)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(w.out, out.Key)
				return err
			})
		}}
	f := cmd.Flags()
	c.StoreFlags(f, w.env)
	f.StringVar(&user, "user", "", "user of the key (required)")
	f.StringVar(&in.Program, "program", "", "the one program that the key speaks for")
	f.StringVar(&kind, "kind", "agent", "agent or human")
	f.StringVar(&scopes, "scopes", "",
		"read, write, admin, answer, console, runner and toolsets, separated by commas; by default read and write in all "+
			"toolsets")
	f.StringVar(&in.Team, "team", "", "with --scopes runner: the one team that the key serves; by default every team")
	f.DurationVar(&expires, "expires", 0, "lifetime of the key, such as 720h; by default unlimited")
	f.StringVar(&in.Name, "name", "", "your name for the key")
	_ = cmd.MarkFlagRequired("user")
	return cmd
}

func (w *world) keyList() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "list", Short: "List keys, newest first, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operate(cmd, &c, func(o operator.Operator) error {
				t := tabwriter.NewWriter(w.out, 0, 4, 2, ' ', 0)
				fmt.Fprintln(t, "ID\tKIND\tPROGRAM\tASSURANCE\tSCOPES\tCREATED\tSTATE")
				in := keys.ListInput{Limit: 100}
				for {
					page, err := o.Keys(cmd.Context(), user, in)
					if err != nil {
						return err
					}
					for _, k := range page.Keys {
						row := []string{k.ID, string(k.Kind), dash(k.Program), dash(string(k.Assurance)), dash(strings.Join(k.Scopes, ",")),
							k.CreatedAt.Format(time.RFC3339), state(k, time.Now())}
						for i := range row {
							row[i] = printable.Line(row[i])
						}
						fmt.Fprintln(t, strings.Join(row, "\t"))
					}
					if in.Cursor = page.NextCursor; in.Cursor == "" {
						return t.Flush()
					}
				}
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "user of the keys")
	return cmd
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func state(k keys.View, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked " + k.RevokedAt.Format(time.RFC3339)
	case k.ExpiresAt.IsZero():
		return "valid"
	case now.After(k.ExpiresAt):
		return "expired " + k.ExpiresAt.Format(time.RFC3339)
	}
	return "valid until " + k.ExpiresAt.Format(time.RFC3339)
}

func (w *world) keyRevoke() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "revoke ID", Short: "Revoke a key; servers over Firestore follow within 60 seconds",
		Long: "Revoke a key, and all keys that it made; servers over Firestore follow within 60 seconds. The key of a paired\n" +
			"device is revoked at a terminal, after a question: after the last one, the next link pairs as the first.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return operate(cmd, &c, func(o operator.Operator) error {
				if err := w.confirmDevice(cmd.Context(), o, user, args[0]); err != nil {
					return err
				}
				v, err := o.Revoke(cmd.Context(), user, args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(w.out, "revoked", printable.Line(v.ID))
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "user of the key")
	return cmd
}
