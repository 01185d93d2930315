package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"parley.internal/services/hub/harness/program"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/connectd"
)

// hookAtMost is the required limit for the p95 of a hook in the middle of a session, with the daemon.
const hookAtMost = 30 * time.Millisecond

// farAway is the time that the way to a distant server and back takes.
const farAway = 100 * time.Millisecond

// runHooks measures the hooks alone.
func runHooks(ctx context.Context, o options, out, _ io.Writer) (err error) {
	dir, binary, done, err := workshop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	t, err := start(ctx, binary, dir, o.sizes[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	return t.hooks(ctx, dir, o.hooks, out)
}

// hooks measures a hook's process from its start to its end, as a client waits for it: with a server on this machine, with
// one 100 ms away, and with none. The first call of each, which starts the daemon, is not part of it.
func (t *target) hooks(ctx context.Context, dir string, n int, out io.Writer) error {
	binary := filepath.Join(dir, "parley-hook") // beside parley, which it starts as the daemon
	if err := program.BuildHook(ctx, binary); err != nil {
		return err
	}
	far, stop, err := delayed(t.base)
	if err != nil {
		return err
	}
	defer stop()
	for _, c := range []struct {
		name, url string
		limit     time.Duration
	}{{"a server on this machine", t.base, hookAtMost}, {"one 100 ms away", far, hookAtMost}, {"none", "http://127.0.0.1:1", hookAtMost}} {
		took, err := t.hookTimes(ctx, binary, c.url, n)
		if err != nil {
			return err
		}
		slices.Sort(took)
		verdict := "ok"
		if quantile(took, 0.95) > c.limit {
			verdict = "over"
		}
		if _, err := fmt.Fprintf(out, "\na hook, %d times, with %s: p50 %s ms, p95 %s ms (limit %d: %s), worst %s ms\n", n, c.name,
			ms(quantile(took, 0.5)), ms(quantile(took, 0.95)), c.limit.Milliseconds(), verdict, ms(quantile(took, 1))); err != nil {
			return err
		}
	}
	return nil
}

// delayed returns the URL of a proxy before a server that holds up each request.
func delayed(base string) (string, func(), error) {
	to, err := url.Parse(base)
	if err != nil {
		return "", nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorLog: log.New(io.Discard, "", 0)} // of waits that the daemon has ended
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(farAway)
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(ln) }()
	return "http://" + ln.Addr().String(), func() { _ = server.Close() }, nil
}

// hookTimes runs the hooks of one session in turn, and ends the daemon.
func (t *target) hookTimes(ctx context.Context, binary, base string, n int) (took []time.Duration, err error) {
	home, err := os.MkdirTemp("", "ph") // a short path, for a socket
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	env := func(name string) string {
		return map[string]string{connection.Variable: home, "HOME": home, "PATH": os.Getenv("PATH"), "PARLEY_KEYRING": "off"}[name]
	}
	conns, err := connection.Dir(env)
	if err == nil {
		_, err = connection.Connection{ID: "claude-bench", Client: "claude", Program: "alpha", URL: base, Key: t.alpha}.Write(conns)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopped := connectd.Stop(ctx, env); !errors.Is(stopped, connectd.ErrNone) {
			err = errors.Join(err, stopped)
		}
	}()
	events := []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse", "Stop"}
	for i := range n + 1 {
		event := "SessionStart"
		if i > 0 {
			event = events[i%len(events)]
		}
		cmd := exec.CommandContext(ctx, binary, "claude", event, "--connection", "claude-bench")
		for _, name := range []string{connection.Variable, "HOME", "PATH", "PARLEY_KEYRING"} {
			cmd.Env = append(cmd.Env, name+"="+env(name))
		}
		cmd.Stdin = bytes.NewReader(fmt.Appendf(nil, `{"session_id":"bench","hook_event_name":%q,"cwd":%q,"tool_name":"Bash",`+
			`"tool_input":{"command":"go test ./..."}}`, event, home))
		begin := time.Now()
		if said, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("the hook %s: %q, %w", event, said, err)
		}
		if i > 0 {
			took = append(took, time.Since(begin))
		}
	}
	return took, nil
}
