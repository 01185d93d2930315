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
	logEnd     = 2000 // bytes of a log that an error shows
)

// buildServer builds what ships, and the two things to compare with.
func buildServer(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "parley")
	return binary, program.Build(ctx, binary, "parleybench")
}

// target is a running server.
type target struct {
	documents         int
	base, alpha, beta string // its URL, and the keys of two programs
	client            *http.Client
	setup             *client.Client // program alpha's, for calls that nothing measures
	claimable         []string       // tasks for the next slice of claim_task

	cmd  *exec.Cmd
	dead chan struct{} // closed when the process has ended, with exit
	exit error
	log  string
}

// start seeds a store and serves it.
func start(ctx context.Context, binary, dir string, documents int) (*target, error) {
	data := filepath.Join(dir, fmt.Sprint(documents))
	if err := seed(ctx, data, documents); err != nil {
		return nil, fmt.Errorf("cannot seed %d documents: %w", documents, err)
	}
	t := &target{documents: documents, dead: make(chan struct{}), log: data + ".log",
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}}
	// A file, as a user has it: a pipe that nobody reads would hold the server up.
	log, err := os.Create(t.log)
	if err != nil {
		return nil, err
	}
	t.cmd = exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--data", data)
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

// plainEnv is the environment without what would change the server's settings.
func plainEnv() []string {
	var out []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "PORT" && !strings.HasPrefix(name, "PARLEY_") {
			out = append(out, v)
		}
	}
	return out
}

// ready waits for the first keys, which the server writes once it listens.
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
			return errors.New("the server ended before it served")
		case <-over:
			return errors.New("the server did not start")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *target) read(keys []byte) error {
	for lines := bufio.NewScanner(bytes.NewReader(keys)); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), "="); name {
		case "PARLEY_URL":
			t.base = strings.TrimSuffix(value, "/mcp")
		case "PARLEY_KEY":
			t.alpha = value
		case "PARLEY_KEY_BETA":
			t.beta = value
		}
	}
	if t.base == "" || t.alpha == "" || t.beta == "" {
		return errors.New("keys.env has no URL or lacks a key")
	}
	// With repetition the store would fill with idempotency keys, beside the documents that are counted.
	var err error
	t.setup, err = client.New(t.base, t.alpha, client.WithHTTPClient(t.client), client.WithRetry(client.NoRetry))
	return err
}

// stop ends the server as a supervisor would, and says where it did not end well.
func (t *target) stop() error {
	t.client.CloseIdleConnections()
	select {
	case <-t.dead:
		return t.failed("the server ended by itself")
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
		return errors.Join(t.failed("the server did not end on SIGTERM"), err)
	}
	if t.exit != nil {
		return t.failed("the server ended badly")
	}
	return nil
}

// failed is an error with the end of the server's log.
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
