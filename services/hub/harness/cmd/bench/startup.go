package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// firstRequestAtMost is the required limit for the time from a server's start to its first answer. In the cloud a request
// waits while an instance starts.
const firstRequestAtMost = 300 * time.Millisecond

// startups measures the time from a server's start to the answer to its first request, on a new store and on an existing
// one.
func startups(ctx context.Context, binary, dir string, n int, out io.Writer) error {
	data := filepath.Join(dir, "startups")
	fresh, err := startup(ctx, binary, data)
	if err != nil {
		return err
	}
	var again []time.Duration
	for range n {
		took, err := startup(ctx, binary, data)
		if err != nil {
			return err
		}
		again = append(again, took)
	}
	slices.Sort(again)
	verdict := "ok"
	if worst := max(fresh, quantile(again, 1)); worst > firstRequestAtMost {
		verdict = "over"
	}
	_, err = fmt.Fprintf(out, "\nfrom a server's start to the answer to its first request: %s ms on a new store; "+
		"on an existing one median %s ms, worst of %d %s ms (limit %d: %s)\n",
		ms(fresh), ms(quantile(again, 0.5)), n, ms(quantile(again, 1)), firstRequestAtMost.Milliseconds(), verdict)
	return err
}

// startup starts a server, returns the time to its first answer and stops the server.
func startup(ctx context.Context, binary, data string) (took time.Duration, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cmd := exec.Command(binary, "serve", "--addr", addr, "--data", data)
	cmd.Env = plainEnv()
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()) }()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v1/health", nil)
		if err != nil {
			return 0, err
		}
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = res.Body.Close() // only the status matters
			if res.StatusCode == http.StatusOK {
				return time.Since(begin), nil
			}
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return 0, fmt.Errorf("the server at %s did not answer: %w", addr, errors.Join(ctx.Err(), err))
		}
	}
}
