package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// withStore opens the store for one command.
func withStore(ctx context.Context, c *config.Config, fn func(*opened) error) (err error) {
	if err := c.CheckStore(); err != nil {
		return err
	}
	o, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.db.Close()) }()
	return fn(o)
}

// withFile opens the embedded store for one command.
func withFile(ctx context.Context, c *config.Config, fn func(*opened) error) error {
	if c.Store == "firestore" {
		return errors.New(
			"this is for the embedded store; Firestore has backups of its own, which docs/operate.md tells of")
	}
	return withStore(ctx, c, fn)
}

func checkUser(user string) error {
	if !identity.ValidName(user) {
		return fmt.Errorf("--user is 1 to 100 letters, digits, dots, underscores and hyphens, not %q", user)
	}
	return nil
}

// exported is a document as an export has it.
type exported struct {
	Path   string       `json:"path"`
	Fields store.Fields `json:"fields"`
}

func (w *world) exportCommand() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "export [FILE]", Short: "Write all that there is of a user, a document a line as JSON",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkUser(user); err != nil {
				return err
			}
			return withStore(cmd.Context(), &c, func(o *opened) error {
				if len(args) == 0 || args[0] == "-" {
					_, err := export(cmd.Context(), store.NewAdmin(o.db), user, w.out)
					return err
				}
				n, err := exportFile(cmd.Context(), store.NewAdmin(o.db), user, args[0])
				if err == nil {
					fmt.Fprintf(w.err, "wrote %d documents to %s\n", n, args[0])
				}
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", "", "whose documents (required)")
	_ = cmd.MarkFlagRequired("user")
	return cmd
}

// exportFile writes into a new file, which is there only where all of it could be written.
func exportFile(ctx context.Context, a *store.Admin, user, name string) (n int, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	if n, err = export(ctx, a, user, f); err != nil {
		return 0, err
	}
	return n, f.Sync()
}

func export(ctx context.Context, a *store.Admin, user string, to io.Writer) (n int, err error) {
	out := bufio.NewWriter(to)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err = a.Walk(ctx, user, func(page []store.Raw) error {
		for _, raw := range page {
			if err := enc.Encode(exported{raw.Ref.Coll + "/" + raw.Ref.ID, raw.Fields}); err != nil {
				return err
			}
		}
		n += len(page)
		return nil
	})
	return n, errors.Join(err, out.Flush())
}

// keysLast is how long servers may take a key for good that is deleted.
const keysLast = 65 * time.Second

func (w *world) deleteCommand() *cobra.Command {
	var c config.Config
	var user, confirm string
	var wait time.Duration
	cmd := &cobra.Command{Use: "delete", Short: "Delete all that there is of a user, for good", Args: cobra.NoArgs,
		Long: "Delete all that there is of a user, for good: keys, tasks, messages, everything.\n\n" +
			"Servers that run may take the user's keys for good up to 60 seconds longer, so the command\n" +
			"waits and then deletes what was written in the meantime.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkUser(user); err != nil {
				return err
			}
			if confirm != user {
				return fmt.Errorf("nothing was deleted: repeat the user's name with --confirm %s", user)
			}
			return withStore(cmd.Context(), &c, func(o *opened) error {
				n, err := w.erase(cmd.Context(), store.NewAdmin(o.db), user, wait)
				fmt.Fprintf(w.out, "deleted %d documents of %s\n", n, user)
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", "", "who is deleted (required)")
	cmd.Flags().StringVar(&confirm, "confirm", "", "the user's name once more")
	cmd.Flags().DurationVar(&wait, "wait", keysLast, "how long to wait for servers that run; 0 where none does")
	_ = cmd.MarkFlagRequired("user")
	return cmd
}

func (w *world) erase(ctx context.Context, a *store.Admin, user string, wait time.Duration) (total int, err error) {
	if total, err = a.Erase(ctx, user); err != nil || total == 0 || wait <= 0 {
		return total, err
	}
	fmt.Fprintf(w.err, "deleted %d documents; waiting %v for servers to let go of the keys\n", total, wait)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return total, fmt.Errorf("the wait was ended: run it again for what was written meanwhile: %w", ctx.Err())
	}
	n, err := a.Erase(ctx, user)
	return total + n, err
}

func (w *world) backupCommand() *cobra.Command {
	var c config.Config
	cmd := &cobra.Command{Use: "backup FILE",
		Short: "Copy the embedded store into a new file, beside a running server or without one",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withFile(cmd.Context(), &c, func(o *opened) error {
				n, err := o.file.Documents(cmd.Context())
				if err == nil {
					err = o.file.Backup(cmd.Context(), args[0])
				}
				if err == nil {
					_, err = fmt.Fprintf(w.out, "wrote %s: about %d documents\n", args[0], n)
				}
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	return cmd
}

func (w *world) restoreCommand() *cobra.Command {
	var c config.Config
	cmd := &cobra.Command{Use: "restore FILE", Short: "Put a backup in the place of all that is in the embedded store",
		Args: cobra.ExactArgs(1),
		Long: "Put a backup in the place of all that is in the embedded store, of all users, in one step. A server\n" +
			"that runs goes on with what was restored. What was there before is kept as a backup beside the store.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withFile(cmd.Context(), &c, func(o *opened) error {
				before, err := o.file.Documents(cmd.Context())
				if err != nil {
					return err
				}
				if before > 0 {
					kept := filepath.Join(c.Data,
						"before-restore-"+time.Now().UTC().Format("20060102-150405.000")+".db")
					if err := o.file.Backup(cmd.Context(), kept); err != nil {
						return err
					}
					fmt.Fprintf(w.err, "what was there is kept in %s\n", kept)
				}
				if err := o.file.Restore(cmd.Context(), args[0]); err != nil {
					return err
				}
				n, err := o.file.Documents(cmd.Context())
				if err == nil {
					_, err = fmt.Fprintf(w.out, "restored %s: %d documents in the place of %d\n", args[0], n, before)
				}
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	return cmd
}
