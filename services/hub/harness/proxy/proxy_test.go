package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/supervise"
)

const repository = "../../../.."

// caddy returns the path of Caddy.
func caddy(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("PARLEY_CADDY"); path != "" {
		return path
	}
	if path, err := exec.LookPath("caddy"); err == nil {
		return path
	}
	path, err := filepath.Abs(filepath.Join(repository, "bin", "debian", "usr", "bin", "caddy"))
	hubtest.Must(t, err)
	if _, err := os.Stat(path); err != nil {
		emulator.Skip(t, "caddy is missing: make setup downloads it on Debian")
	}
	return path
}

// caddyfile returns the Caddyfile for loopback, free ports, and a certificate that this machine is not told to trust.
func caddyfile(t *testing.T, ports [2]string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "deploy", "compose", "Caddyfile"))
	hubtest.Must(t, err)
	const option = "\tadmin off\n"
	if strings.Count(string(text), option) != 1 {
		t.Fatalf("the Caddyfile must have %q once:\n%s", option, text)
	}
	here := "\tdefault_bind 127.0.0.1\n\tskip_install_trust\n\thttp_port " + ports[0] + "\n\thttps_port " + ports[1] + "\n"
	path := filepath.Join(t.TempDir(), "Caddyfile")
	hubtest.Must(t, os.WriteFile(path, []byte(strings.Replace(string(text), option, option+here, 1)), 0o600))
	return path
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	hubtest.Must(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	hubtest.Must(t, err)
	return port
}

// before starts Caddy before a server, and returns its URL and a transport that trusts it and calls from an address.
func before(t *testing.T, port, upstream, from string) (url string, transport *http.Transport) {
	t.Helper()
	home := t.TempDir()
	file := caddyfile(t, [2]string{freePort(t), port})
	var log supervise.Output
	p, err := supervise.Command{Args: []string{caddy(t), "run", "--adapter", "caddyfile", "--config", file}, Output: &log,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_DATA_HOME=" + home, "XDG_CONFIG_HOME=" + home,
			"PARLEY_DOMAIN=localhost", "PARLEY_UPSTREAM=" + upstream}}.Start()
	hubtest.Must(t, err)
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("Caddy's log:\n%s", &log)
		}
	})
	roots := x509.NewCertPool()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, "127.0.0.1:"+port)
		}}
	t.Cleanup(transport.CloseIdleConnections)
	url = "https://localhost:" + port
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		if root, err := os.ReadFile(filepath.Join(home, "caddy", "pki", "authorities", "local", "root.crt")); err == nil {
			roots.AppendCertsFromPEM(root)
			if res, err := (&http.Client{Transport: transport}).Get(url + "/v1/health"); err == nil {
				_ = res.Body.Close()
				return url, transport
			}
		}
		select {
		case <-tick.C:
		case <-p.Exited():
			t.Fatal("Caddy ended")
		case <-ctx.Done():
			t.Fatal("Caddy does not answer")
		}
	}
}

func keysOf(t *testing.T, p *hubtest.Program) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Data, "keys.env"))
	hubtest.Must(t, err)
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		all[name] = value
	}
	return all
}

// find returns the match of a pattern's group in the log of a program, as soon as it is there.
func find(t *testing.T, p *hubtest.Program, pattern string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(p.Log.String()); m != nil {
			return m[1]
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the log has no %s", pattern)
		}
	}
}

func TestAServerBehindTheCaddyfileHasWaitsMCPAndTheAddressesOfItsCallers(t *testing.T) {
	if runtime.GOOS != "linux" {
		emulator.Skip(t, "only Linux has further addresses on loopback without being told")
	}
	caddy(t)
	port := freePort(t)
	hub := hubtest.Start(t, nil, "--trust-proxy", "1", "--public-url", "https://localhost:"+port)
	keys := keysOf(t, hub)
	url, transport := before(t, port, hub.Addr, "127.0.0.2")
	over := &http.Client{Transport: transport}

	do := func(method, path, key, body string, headers ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		hubtest.Must(t, err)
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := over.Do(req)
		hubtest.Must(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		hubtest.Must(t, err)
		return res.StatusCode, string(text)
	}
	if status, text := do("POST", "/mcp", keys["PARLEY_KEY"], `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != 200 ||
		!strings.Contains(text, `"inputSchema"`) {
		t.Errorf("MCP answers %d %.300s", status, text)
	}

	// The call of the agent is open until the human answers, who can do so only once it has been made.
	type answer struct {
		text []byte
		err  error
	}
	came := make(chan answer, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/questions",
		strings.NewReader(`{"question":"Ship it?","waitMs":50000}`))
	hubtest.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+keys["PARLEY_KEY"])
	req.Header.Set("Content-Type", "application/json")
	go func() {
		res, err := over.Do(req)
		if err != nil {
			came <- answer{err: err}
			return
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		came <- answer{text, err}
	}()
	human := find(t, hub, `key of the human: +(\S+)`)
	var asked []string
	for asked == nil {
		_, text := do("GET", "/v1/questions", human, "")
		asked = regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(text)
	}
	if status, text := do("POST", "/v1/questions/"+asked[1]+"/answer", human, `{"response":"yes"}`); status != 200 {
		t.Errorf("an answer: %d %s", status, text)
	}
	if a := <-came; a.err != nil || !strings.Contains(string(a.text), `"response":"yes"`) {
		t.Errorf("the wait ended with %s, %v", a.text, a.err)
	}

	// What the caller writes is not its address.
	if status, text := do("GET", "/v1/tasks", "parley_nobody", "", "X-Forwarded-For", "192.0.2.1"); status != 401 {
		t.Errorf("a bad key: %d %s", status, text)
	}
	if from := find(t, hub, `"address":"([^"]*)"`); from != "127.0.0.2" {
		t.Errorf("the address of the caller is %s, not 127.0.0.2", from)
	}
}

func TestEventsReachTheClientBeforeTheStreamEnds(t *testing.T) {
	caddy(t)
	next := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: one\n\n")
		if r.URL.Path == "/v1/health" {
			return
		}
		_ = http.NewResponseController(w).Flush() // the first event arrives, or the test does not end
		select {
		case <-next:
			fmt.Fprint(w, "data: two\n\n")
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	url, transport := before(t, freePort(t), strings.TrimPrefix(server.URL, "http://"), "127.0.0.1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/events", nil)
	hubtest.Must(t, err)
	res, err := (&http.Client{Transport: transport}).Do(req)
	hubtest.Must(t, err)
	defer res.Body.Close()
	first := make([]byte, len("data: one\n\n"))
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "data: one\n\n" {
		t.Fatalf("%q, %v", first, err)
	}
	close(next)
	if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "data: two\n\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if h := res.Header.Get("Strict-Transport-Security"); h != "max-age=31536000" {
		t.Errorf("the header of https is %q", h)
	}
}
