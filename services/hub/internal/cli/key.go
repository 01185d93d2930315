package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

// operator acts for a user at the terminal, where having the store is the right to it.
func operator(user string) identity.Caller {
	return identity.Caller{User: user, Kind: identity.Human}
}

// withApp opens the store for one command.
func withApp(ctx context.Context, c *config.Config, fn func(*app.App) error) (err error) {
	if err := c.CheckStore(); err != nil {
		return err
	}
	o, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.db.Close()) }()
	return fn(app.New(o.db, app.Ports{}))
}

func (w *world) keyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Make, list and revoke keys, beside a running server or without one"}
	cmd.AddCommand(w.keyCreate(), w.keyList(), w.keyRevoke())
	return cmd
}

func (w *world) keyCreate() *cobra.Command {
	var c config.Config
	var user, kind, scopes string
	var in keys.CreateInput
	var expires time.Duration
	cmd := &cobra.Command{Use: "create", Short: "Make a key and print it, this once", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in.Kind, in.Expires = identity.KeyKind(kind), int64(expires.Seconds())
			if expires < 0 || (expires > 0 && expires < time.Second) {
				return fmt.Errorf("--expires is at least 1s, not %v", expires)
			}
			if scopes != "" {
				in.Scopes = strings.Split(scopes, ",")
			}
			return withApp(cmd.Context(), &c, func(a *app.App) error {
				out, err := a.Keys.Issue(cmd.Context(), user, in)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(w.out, out.Key)
				return err
			})
		}}
	f := cmd.Flags()
	c.StoreFlags(f, w.env)
	f.StringVar(&user, "user", "", "whose key (required)")
	f.StringVar(&in.Program, "program", "", "the one program that it speaks for")
	f.StringVar(&kind, "kind", "agent", "agent or human")
	f.StringVar(&scopes, "scopes", "",
		"read, write, admin and toolsets, parted by commas; none means reading and writing everywhere")
	f.DurationVar(&expires, "expires", 0, "how long it is good, as 720h; for ever where left out")
	f.StringVar(&in.Name, "name", "", "what you call it")
	_ = cmd.MarkFlagRequired("user")
	return cmd
}

func (w *world) keyList() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "list", Short: "List keys, newest first, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withApp(cmd.Context(), &c, func(a *app.App) error {
				t := tabwriter.NewWriter(w.out, 0, 4, 2, ' ', 0)
				fmt.Fprintln(t, "ID\tKIND\tPROGRAM\tSCOPES\tCREATED\tSTATE")
				in := keys.ListInput{Limit: 100}
				for {
					page, err := a.Keys.List(cmd.Context(), operator(user), in)
					if err != nil {
						return err
					}
					for _, k := range page.Keys {
						fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Kind, dash(k.Program),
							dash(strings.Join(k.Scopes, ",")), k.CreatedAt.Format(time.RFC3339), state(k, time.Now()))
					}
					if in.Cursor = page.NextCursor; in.Cursor == "" {
						return t.Flush()
					}
				}
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "whose keys")
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
		return "good"
	case now.After(k.ExpiresAt):
		return "expired " + k.ExpiresAt.Format(time.RFC3339)
	}
	return "good until " + k.ExpiresAt.Format(time.RFC3339)
}

func (w *world) keyRevoke() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "revoke ID", Short: "End a key; running servers follow within 60 seconds",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withApp(cmd.Context(), &c, func(a *app.App) error {
				v, err := a.Keys.Revoke(cmd.Context(), operator(user), keys.RevokeInput{KeyID: args[0]})
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(w.out, "revoked", v.ID)
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", localUser, "whose key")
	return cmd
}
