package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/operator"
	"parley.internal/shared/identity"
	"parley.internal/shared/store/sqlite"
)

// operateFile is operate for commands that work with the embedded store only, and makes the store where create is set.
func operateFile(cmd *cobra.Command, c *config.Config, create bool, fn func(operator.Operator) error) error {
	if c.Store == "firestore" {
		return errors.New(
			"this command needs the embedded store; for backups of Firestore see docs/operate.md")
	}
	return operateStore(cmd, c, create, fn)
}

func checkUser(user string) error {
	if !identity.ValidName(user) {
		return fmt.Errorf("--user must be 1 to 100 letters, digits, dots, underscores and hyphens, not %q", user)
	}
	return nil
}

// nothingOf returns an error if a user has none of the documents that were to be written or deleted.
func nothingOf(user string, documents int) error {
	if documents > 0 {
		return nil
	}
	return fmt.Errorf("there is no document of a user %s; the server's own user is %s, and users of Firebase have their uid", user, localUser)
}

func (w *world) exportCommand() *cobra.Command {
	var c config.Config
	var user string
	cmd := &cobra.Command{Use: "export [FILE]", Args: cobra.MaximumNArgs(1),
		Short: "Write all documents of a user, one JSON object a line",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkUser(user); err != nil {
				return err
			}
			return operate(cmd, &c, func(o operator.Operator) error {
				if len(args) == 0 || args[0] == "-" {
					n, err := o.Export(cmd.Context(), user, w.out)
					return cmp.Or(err, nothingOf(user, n))
				}
				n, err := exportFile(cmd.Context(), o, user, args[0])
				if err == nil {
					fmt.Fprintf(w.err, "wrote %d documents to %s\n", n, args[0])
				}
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", "", "user whose documents are written (required)")
	_ = cmd.MarkFlagRequired("user")
	return cmd
}

// exportFile writes an export to a new file. After an error there is no file.
func exportFile(ctx context.Context, o operator.Operator, user, name string) (n int, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	if n, err = o.Export(ctx, user, f); err != nil || n == 0 {
		return 0, cmp.Or(err, nothingOf(user, n))
	}
	return n, f.Sync()
}

// keysLast is the time for which running servers may still accept a deleted key.
const keysLast = 65 * time.Second

func (w *world) deleteCommand() *cobra.Command {
	var c config.Config
	var user, confirm string
	var wait time.Duration
	cmd := &cobra.Command{Use: "delete", Short: "Delete all documents of a user permanently", Args: cobra.NoArgs,
		Long: "Delete all documents of a user permanently: keys, tasks, messages and everything else.\n\n" +
			"Running servers may accept the user's keys for up to 60 more seconds, so the command waits\n" +
			"and then deletes the documents that were written in the meantime.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkUser(user); err != nil {
				return err
			}
			if confirm != user {
				return fmt.Errorf("nothing was deleted: repeat the user's name with --confirm %s", user)
			}
			return operate(cmd, &c, func(o operator.Operator) error {
				if !o.Served() {
					wait = 0
				}
				n, err := w.erase(cmd.Context(), o, user, wait)
				if n > 0 || err != nil {
					fmt.Fprintf(w.out, "deleted %d documents of %s\n", n, user)
				}
				return cmp.Or(err, nothingOf(user, n))
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	cmd.Flags().StringVar(&user, "user", "", "user whose documents are deleted (required)")
	cmd.Flags().StringVar(&confirm, "confirm", "", "the name of the user again")
	cmd.Flags().DurationVar(&wait, "wait", keysLast, "time to wait for running servers")
	_ = cmd.MarkFlagRequired("user")
	return cmd
}

func (w *world) erase(ctx context.Context, o operator.Operator, user string, wait time.Duration) (total int, err error) {
	if total, err = o.Erase(ctx, user); err != nil || total == 0 || wait <= 0 {
		return total, err
	}
	fmt.Fprintf(w.err, "deleted %d documents; waiting %v until servers refuse the keys\n", total, wait)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return total, fmt.Errorf(
			"the wait was interrupted; repeat the command to delete documents written meanwhile: %w", ctx.Err())
	}
	n, err := o.Erase(ctx, user)
	return total + n, err
}

func (w *world) backupCommand() *cobra.Command {
	var c config.Config
	cmd := &cobra.Command{Use: "backup FILE", Args: cobra.ExactArgs(1),
		Short: "Copy the embedded store to a new file, with or without a running server",
		RunE: func(cmd *cobra.Command, args []string) error {
			return operateFile(cmd, &c, false, func(o operator.Operator) error {
				file, err := filepath.Abs(args[0])
				if err != nil {
					return err
				}
				n, err := o.Backup(cmd.Context(), file)
				if err == nil {
					_, err = fmt.Fprintf(w.out, "wrote %s: about %d documents\n", args[0], n)
				}
				return err
			})
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	return cmd
}

// checkBeforeStore checks a backup before the command creates the store, if there is none yet: a file that is refused
// must not leave an empty store.
func checkBeforeStore(ctx context.Context, c *config.Config, file string) error {
	if c.Store == "firestore" || c.Data == "" {
		return nil // refused when the store is opened
	}
	if _, err := os.Stat(filepath.Join(c.Data, storeFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir, err := filepath.Abs(c.Data)
	for err == nil {
		if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return sqlite.CheckBackup(ctx, file, dir)
		}
		dir = filepath.Dir(dir)
	}
	return err
}

// restore restores a backup and keeps the previous content, if there is any.
func (w *world) restore(ctx context.Context, o operator.Operator, file string) error {
	at, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	done, err := o.Restore(ctx, at)
	if err != nil {
		return err
	}
	if done.Kept != "" {
		fmt.Fprintf(w.err, "the previous content is kept in %s\n", done.Kept)
	}
	_, err = fmt.Fprintf(w.out, "restored %s: %d documents in the place of %d\n", file, done.After, done.Before)
	return err
}

func (w *world) restoreCommand() *cobra.Command {
	var c config.Config
	cmd := &cobra.Command{Use: "restore FILE", Args: cobra.ExactArgs(1),
		Short: "Replace the content of the embedded store with a backup",
		Long: "Replace the content of the embedded store, of all users, with a backup in one step. A running server\n" +
			"continues with the restored content. The previous content is kept as a backup beside the store.\n\n" +
			"A file with anything but the tables, indexes and documents of Parley is refused, and so is one over\n" +
			"32 GiB; the data directory is then as it was before.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkBeforeStore(cmd.Context(), &c, args[0]); err != nil {
				return err
			}
			return operateFile(cmd, &c, true, func(o operator.Operator) error { return w.restore(cmd.Context(), o, args[0]) })
		}}
	c.StoreFlags(cmd.Flags(), w.env)
	return cmd
}
