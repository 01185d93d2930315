package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"parley.internal/services/hub/harness/program"
	"parley.internal/shared/client"
)

const (
	startLimit = 30 * time.Second
	stopLimit  = 15 * time.Second
	logEnd     = 2000 // bytes of the log in an error
)

// workshop returns a directory of its own with a program of the server in it, and a function that removes it.
func workshop(ctx context.Context) (dir, binary string, done func() error, err error) {
	if dir, err = os.MkdirTemp("", "parley-bench-"); err != nil {
		return "", "", nil, err
	}
	done = func() error { return os.RemoveAll(dir) }
	if binary, err = buildServer(ctx, dir); err != nil {
		return "", "", nil, errors.Join(err, done())
	}
	return dir, binary, done, nil
}

// buildServer builds the hub with the two baselines and returns the path of the program.
func buildServer(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "parley")
	return binary, program.Build(ctx, binary, "parleybench")
}

// target is a running server.
type target struct {
	documents         int
	base, alpha, beta string // the base URL, and the keys of two programs
	client            *http.Client
	setup             *client.Client // program alpha's, for calls that are not timed
	claimable         []string       // the tasks for the next slice of claim_task

	cmd  *exec.Cmd
	dead chan struct{} // closed when the process has exited and exit is set
	exit error
	log  string
}

// start creates a store and starts a server on it.
func start(ctx context.Context, binary, dir string, documents int) (*target, error) {
	data := filepath.Join(dir, fmt.Sprint(documents))
	if err := seed(ctx, data, documents); err != nil {
		return nil, fmt.Errorf("cannot seed %d documents: %w", documents, err)
	}
	t, err := launch(ctx, binary, data, "--waits-key", "0", "--waits-user", "0", "--waits", "10000")
	if err == nil {
		t.documents = documents
	}
	return t, err
}

// launch starts a server on a store with flags that set its limits.
func launch(ctx context.Context, binary, data string, limits ...string) (*target, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}
	t := &target{dead: make(chan struct{}), log: data + ".log",
		client: &http.Client{Timeout: time.Minute, Transport: transport}}
	// A file, because an unread pipe would block the server.
	log, err := os.Create(t.log)
	if err != nil {
		return nil, err
	}
	t.cmd = exec.Command(binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", data}, limits...)...)
	t.cmd.Stdout, t.cmd.Stderr, t.cmd.Env = log, log, plainEnv()
	err = errors.Join(t.cmd.Start(), log.Close())
	if err != nil {
		return nil, err
	}
	go func() {
		t.exit = t.cmd.Wait()
		close(t.dead)
	}()
	if err := t.ready(ctx, filepath.Join(data, "keys.env")); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// plainEnv returns the environment without the variables that configure the server.
func plainEnv() []string {
	var out []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "PORT" && !strings.HasPrefix(name, "PARLEY_") {
			out = append(out, v)
		}
	}
	return append(out, "PARLEY_KEYRING=off")
}

// ready waits until the server has written its first keys, which it does once it listens, and reads them.
func (t *target) ready(ctx context.Context, keys string) error {
	over := time.After(startLimit)
	for {
		text, err := os.ReadFile(keys)
		if err == nil {
			return t.read(text)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.dead:
			return errors.New("the server exited before it served")
		case <-over:
			return fmt.Errorf("the server did not start within %v", startLimit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *target) read(keys []byte) error {
	for lines := bufio.NewScanner(bytes.NewReader(keys)); lines.Scan(); {
		switch name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "="); name {
		case "PARLEY_URL":
			t.base = strings.TrimSuffix(value, "/mcp")
		case "PARLEY_KEY":
			t.alpha = value
		case "PARLEY_KEY_BETA":
			t.beta = value
		}
	}
	if t.base == "" || t.alpha == "" || t.beta == "" {
		return errors.New("keys.env must have a URL and two keys")
	}
	// A client that retries would add idempotency keys to the counted documents.
	var err error
	t.setup, err = client.New(t.base, t.alpha, client.WithHTTPClient(t.client), client.WithRetry(client.NoRetry))
	return err
}

// stop ends the server with SIGTERM. It returns an error if the server had exited before or does not exit cleanly.
func (t *target) stop() error {
	t.client.CloseIdleConnections()
	select {
	case <-t.dead:
		return t.failed("the server exited without a signal")
	default:
	}
	if err := t.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-t.dead:
	case <-time.After(stopLimit):
		err := t.cmd.Process.Kill()
		<-t.dead
		return errors.Join(t.failed("the server did not exit on SIGTERM"), err)
	}
	if t.exit != nil {
		return t.failed("the server failed")
	}
	return nil
}

// failed returns an error with the end of the server's log.
func (t *target) failed(what string) error {
	text, err := os.ReadFile(t.log)
	if err != nil {
		text = nil
	}
	if len(text) > logEnd {
		text = text[len(text)-logEnd:]
	}
	return fmt.Errorf("%s: %v; the end of its log:\n%s", what, t.exit, text)
}
