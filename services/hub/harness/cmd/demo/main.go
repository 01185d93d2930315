// Command demo fills an embedded store with a scripted day of six agents, unless it has one, and prints a link that opens
// the console on it. With -play it does no more; otherwise it serves the store until it is interrupted, with the program
// that it is given.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"parley.internal/services/hub/harness/demo"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// user is the person of a laptop's store.
const user = "local"

func main() {
	dir := flag.String("data", "", "directory of the store (default: a new one)")
	program := flag.String("program", "", "the program parley that serves the store")
	addr := flag.String("addr", "127.0.0.1:3000", "where it listens")
	play := flag.Bool("play", false, "fill the store, and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *dir, *program, *addr, *play)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, program, addr string, play bool) error {
	if !play && program == "" {
		return errors.New("name the program that serves the store with -program, or give -play")
	}
	if dir == "" {
		made, err := os.MkdirTemp("", "parley-demo-")
		if err != nil {
			return err
		}
		dir = made
		if !play {
			defer os.RemoveAll(dir)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	code, keys, err := fill(ctx, filepath.Join(dir, "parley.db"))
	if err != nil {
		return err
	}
	fmt.Printf("The console, once, within 10 minutes: http://%s/#link=%s\n", addr, code)
	if play {
		return nil
	}
	waits, leave := context.WithCancel(ctx)
	var agents sync.WaitGroup
	defer agents.Wait()
	defer leave()
	if keys != nil {
		agents.Go(func() { demo.Wait(waits, "http://"+addr, keys) })
	}
	cmd := exec.CommandContext(ctx, program, "serve", "--data", dir, "--addr", addr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), "PARLEY_KEYRING=off")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the server ended: %w", err)
	}
	return nil
}

// fill plays the day into the store of a file that is not there yet, and returns the code of a link for the console and,
// where it played, the keys of the agents.
func fill(ctx context.Context, file string) (code string, keys map[string]string, err error) {
	_, err = os.Stat(file)
	fresh := errors.Is(err, fs.ErrNotExist)
	schema := app.Schema()
	d, err := sqlite.Open(ctx, file, schema)
	if err != nil {
		return "", nil, err
	}
	db := store.New(d, schema)
	defer func() { err = errors.Join(err, db.Close()) }()
	if fresh {
		if keys, err = demo.Play(ctx, db, user, time.Now()); err != nil {
			return "", nil, err
		}
	}
	link, err := app.New(db, app.Ports{}).Keys.MakeLink(ctx, user, true)
	return link.Code, keys, err
}
