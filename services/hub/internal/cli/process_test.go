package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
	"go.uber.org/goleak"

	"parley.internal/shared/client"
)

// patience is the time limit for results that should arrive at once. It is less than the longest wait of a call, so
// that a wait without an event fails.
const patience = 40 * time.Second

// binary is the path of the hub's binary, built once for the package.
var binary string

const stamped = "v0.0.0-test"

func TestMain(m *testing.M) {
	keyring.MockInit() // no command in this process reaches a keyring of the machine
	dir, err := os.MkdirTemp("", "parley-")
	if err == nil {
		binary = filepath.Join(dir, "parley")
		args := append([]string{"build"}, raceFlags...)
		cmd := exec.Command("go",
			append(args, "-o", binary, "-ldflags", "-X parley.internal/services/hub/internal/cli.Version="+stamped,
				"parley.internal/services/hub")...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		err = cmd.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the hub:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, append(lasting, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))...)
}

// process is a running command.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *output
	ended    chan struct{}
	URL      string
}

// output collects the output of a process. It may be read while the process writes.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// run starts the command with the given environment alone, in a directory of its own.
func run(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	home := t.TempDir()
	return start(t, home, append([]string{"HOME=" + home}, env...), args...)
}

// start starts the command in a directory.
func start(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), out: &output{more: make(chan struct{}, 1)},
		err: &output{more: make(chan struct{}, 1)}, ended: make(chan struct{})}
	p.cmd.Env = append([]string{"PARLEY_KEYRING=off", "PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, p.out, p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // its state is read from it
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
	})
	return p
}

var serves = regexp.MustCompile(`serves MCP at (http://\S+)/mcp and REST at`)

// serve starts a server, on a free port of 127.0.0.1 unless the arguments or the environment name an address, and waits
// until it prints its URL.
func serve(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := run(t, env, append([]string{"serve"}, args...)...)
	for {
		if m := serves.FindStringSubmatch(p.out.String()); m != nil {
			p.URL = m[1]
			p.waitHealthy()
			return p
		}
		select {
		case <-p.out.more:
		case <-p.ended:
			t.Fatalf("the server ended with %d before it was ready:\n%s%s", p.cmd.ProcessState.ExitCode(), p.out, p.err)
		case <-time.After(patience):
			t.Fatalf("the server does not print its URL:\n%s%s", p.out, p.err)
		}
	}
}

// waitHealthy returns once the server answers. The server listens before it prints its URL, so the first call succeeds.
func (p *process) waitHealthy() {
	p.t.Helper()
	if a := p.call("", "GET", "/v1/health", nil); a.Status != 200 {
		p.t.Fatalf("health: %s", a)
	}
}

func local(data string, more ...string) []string {
	return append([]string{"--addr", "127.0.0.1:0", "--data", data}, more...)
}

// stop sends a signal, waits for the end and returns the exit code.
func (p *process) stop(s os.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the process does not end:\n%s%s", p.out, p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

var plain = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableKeepAlives: false},
	Timeout: patience}

// as returns a client of the server with a key, for calls whose result alone matters. It repeats nothing, because the
// tests count calls and end servers.
func (p *process) as(key string) *client.Client {
	p.t.Helper()
	c, err := client.New(p.URL, key, client.WithHTTPClient(plain), client.WithRetry(client.NoRetry))
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// try sends a raw request and returns the answer, for tests of statuses, headers, bytes, pages and MCP; [process.as] is
// for the others.
func (p *process) try(ctx context.Context, key, method, path string, body any) (reply, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, method, p.URL+path, bytes.NewReader(text))
	if err != nil {
		return reply{}, err
	}
	if body == nil {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := plain.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return reply{Status: res.StatusCode, Header: res.Header, Body: text}, err
}

func (p *process) call(key, method, path string, body any) reply {
	p.t.Helper()
	a, err := p.try(p.t.Context(), key, method, path, body)
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", method, path, err, p.err)
	}
	return a
}

// command runs a command to its end and returns its output and exit code.
func command(t *testing.T, env []string, args ...string) (out, errOut string, code int) {
	t.Helper()
	p := run(t, env, args...)
	code = p.wait()
	return p.out.String(), p.err.String(), code
}

// makeKey creates a key with the command.
func makeKey(t *testing.T, data string, args ...string) string {
	t.Helper()
	out, errOut, code := command(t, nil,
		append([]string{"key", "create", "--data", data, "--user", "local"}, args...)...)
	if code != 0 {
		t.Fatalf("key create: exit %d: %s", code, errOut)
	}
	return strings.TrimSuffix(out, "\n")
}

// keysEnv returns the variables of keys.env, and of human.env if there is one.
func keysEnv(t *testing.T, data string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "keys.env"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(filepath.Join(data, "human.env"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	vars := map[string]string{}
	for line := range strings.Lines(string(text) + string(own)) {
		line, exported := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "export ")
		name, value, ok := strings.Cut(line, "=")
		if !ok || !exported || strings.ContainsAny(value, " \t\"'") {
			t.Errorf("keys.env and human.env have the line %q", line)
		}
		vars[name] = value
	}
	return vars
}

var secret = regexp.MustCompile(`parley_[a-z2-7]+_[a-z2-7]{52}`)

// write creates a task or a message, over REST or MCP, and returns its id.
func (p *process) write(ctx context.Context, key string, c, i int) (string, error) {
	name, field := "create_task", "taskId"
	in := map[string]any{"title": fmt.Sprintf("%d of %d", i, c), "target": "alpha"}
	if i%2 == 1 {
		name, field = "send_message", "messageId"
		in = map[string]any{"message": fmt.Sprintf("%d of %d", i, c), "source": "alpha", "target": "alpha",
			"message_type": "STATUS"}
	}
	var data json.RawMessage
	if c%2 == 0 {
		if err := p.as(key).Do(ctx, name, in, &data); err != nil {
			return "", err
		}
	} else {
		a, err := p.try(ctx, key, "POST", "/mcp",
			message(i, "tools/call", map[string]any{"name": name, "arguments": in}))
		if err != nil {
			return "", err
		}
		var m struct {
			Result struct{ StructuredContent json.RawMessage }
		}
		if err := json.Unmarshal(a.Body, &m); err != nil {
			return "", err
		}
		data = m.Result.StructuredContent
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		return "", err
	}
	id, ok := out[field].(string)
	if !ok {
		return "", errors.New("no id")
	}
	return id, nil
}
