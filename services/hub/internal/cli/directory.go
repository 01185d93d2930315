package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/services/hub/internal/config"
	"parley.internal/services/hub/internal/datadir"
	"parley.internal/services/hub/internal/doctor"
	"parley.internal/services/hub/internal/operator"
	"parley.internal/shared/app"
)

// The times for which a process waits for the data directory: a server for one that ends and for commands, and a command
// for a server that starts or drains.
const (
	servePatience   = 10 * time.Second
	commandPatience = 20 * time.Second
)

// chooseData sets the flag for the data directory of a command that has one, where neither the command line nor
// PARLEY_DATA names it, and says which directory it took where more than one could be meant.
func (w *world) chooseData(cmd *cobra.Command) error {
	data := cmd.Flags().Lookup("data")
	if data == nil || data.Value.String() != "" {
		return nil
	}
	if data.Changed {
		return errors.New("--data must name a directory")
	}
	kind := cmd.Flags().Lookup("store")
	if kind != nil && kind.Value.String() != "sqlite" {
		return nil
	}
	work, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("cannot find the working directory: %w (name a data directory with --data)", err)
	}
	home, _ := os.UserHomeDir() // empty where it is unknown
	choice := datadir.Find(cmd.Context(), work, home)
	if choice.Note != "" {
		fmt.Fprintln(w.err, "parley:", choice.Note)
	}
	if choice.Dir == "" && kind != nil { // it opens the store, and may make one
		return errors.New("no data directory is known, as HOME is empty: give --data, or set HOME")
	}
	return data.Value.Set(cmp.Or(choice.Dir, filepath.Join(work, ".parley")))
}

func nameOfCommand(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// operate calls fn with the operator of the store: the server that has the data directory or, where there is none, the
// store itself, which no server opens meanwhile. A directory without a store is an error.
func operate(cmd *cobra.Command, c *config.Config, fn func(operator.Operator) error) error {
	return operateStore(cmd, c, false, fn)
}

// operateNew is operate for a command that may be the first on a directory, and makes the store there.
func operateNew(cmd *cobra.Command, c *config.Config, fn func(operator.Operator) error) error {
	return operateStore(cmd, c, true, fn)
}

// noStore returns an error if there is no file or directory of the name.
func noStore(data, name string) error {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store in %s: name the data directory of a server with --data or PARLEY_DATA, or make one "+
			"there with `parley serve --data`", data)
	}
	return nil
}

func operateStore(cmd *cobra.Command, c *config.Config, create bool, fn func(operator.Operator) error) (err error) {
	if err := c.CheckStore(); err != nil {
		return err
	}
	ctx := cmd.Context()
	if c.Store == "sqlite" {
		if err := noStore(c.Data, c.Data); err != nil && !create {
			return err
		}
		lock, err := datadir.Take(ctx, c.Data, nameOfCommand(cmd), commandPatience)
		var taken *datadir.Taken
		switch {
		case errors.As(err, &taken) && taken.Socket != "":
			return fn(operator.NewRemote(taken.Dial, taken.Token))
		case err != nil:
			return err
		}
		defer func() { err = errors.Join(err, lock.Release()) }()
		if err := noStore(c.Data, filepath.Join(c.Data, storeFile)); err != nil && !create {
			return err
		}
	}
	o, err := open(ctx, c, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.db.Close()) }()
	return fn(localOperator(o, app.New(o.db, app.Ports{})))
}

func localOperator(o *opened, a *app.App) *operator.Local {
	local := &operator.Local{App: a, DB: o.db}
	if o.file != nil {
		dir := filepath.Dir(o.file.File())
		local.File, local.Dir = o.file, dir
		local.Laptop = func() *doctor.Laptop {
			l := laptopAt(dir)
			l.Inspect = o.file.Inspect
			return l
		}
	}
	return local
}

// desk serves the commands of operators on the socket of a data directory.
type desk struct {
	lock   *datadir.Lock
	server *http.Server
	done   chan error
}

// openDesk opens the socket of a directory and tells other processes of it and of the server's address.
func openDesk(lock *datadir.Lock, o operator.Operator, url string, log *slog.Logger) (*desk, error) {
	if err := operator.CleanUp(lock.Dir()); err != nil {
		return nil, err
	}
	socket, err := lock.Listen()
	if err != nil {
		return nil, err
	}
	tell := func(call string) { log.Info("operator", "call", call) }
	d := &desk{lock: lock, done: make(chan error, 1), server: &http.Server{
		Handler: operator.Handler(o, lock.Dir(), socket.Token, tell), ReadHeaderTimeout: headerTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}}
	go func() { d.done <- d.server.Serve(socket) }()
	if err := lock.Serves(url, socket); err != nil {
		return nil, errors.Join(err, d.server.Close(), d.wait())
	}
	return d, nil
}

func (d *desk) wait() error {
	if err := <-d.done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ends tells other processes to wait for the end of the server.
func (d *desk) ends() error {
	if d == nil {
		return nil
	}
	return d.lock.Ends()
}

// close lets the commands finish until ctx ends, and removes the socket.
func (d *desk) close(ctx context.Context) error {
	if d == nil {
		return nil
	}
	err := d.ends()
	if d.server.Shutdown(ctx) != nil {
		err = errors.Join(err, d.server.Close())
	}
	return errors.Join(err, d.wait())
}
