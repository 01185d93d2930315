package cli_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/domaintest"
)

func TestTheFirstStartCreatesKeysAndPrintsThemOnce(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "deep", "data")
	p := serve(t, nil, local(data)...)
	vars := keysEnv(t, data)
	if len(vars) != 4 || vars["PARLEY_URL"] != p.URL+"/mcp" {
		t.Errorf("keys.env has %v, want four variables and the URL %s/mcp", vars, p.URL)
	}
	if agents, err := os.ReadFile(filepath.Join(data, "keys.env")); err != nil ||
		strings.Contains(string(agents), vars["PARLEY_HUMAN_KEY"]) {
		t.Errorf("keys.env has the human's key: %s, %v", agents, err)
	}
	for _, name := range []string{"PARLEY_KEY", "PARLEY_KEY_BETA", "PARLEY_HUMAN_KEY"} {
		if !secret.MatchString(vars[name]) || strings.Count(p.out.String(), vars[name]) != 1 {
			t.Errorf("%s is %q, want a key that is printed once:\n%s", name, vars[name], p.out)
		}
		if a := p.call(vars[name], "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Errorf("%s: got %s", name, a)
		}
	}
	for name, mode := range map[string]os.FileMode{"keys.env": 0o600, "human.env": 0o600, ".": 0o700} {
		if info, err := os.Stat(filepath.Join(data, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: got %v, %v; want the mode %v", name, info.Mode(), err, mode)
		}
	}
	// The three keys belong to one user: two to the programs alpha and beta, one to the human.
	made, err := p.as(vars["PARLEY_KEY_BETA"]).CreateTask(t.Context(), dispatch.CreateInput{Title: "t", Target: "alpha"})
	if err != nil || made.Source != "beta" {
		t.Errorf("got %+v, %v; want a task of beta's", made, err)
	}
	if a := p.call(vars["PARLEY_KEY"], "GET", "/v1/tasks?target=alpha", nil); !strings.Contains(string(a.Body),
		`"source":"beta"`) {
		t.Errorf("got %s, want beta's task", a)
	}
	if a := p.call(vars["PARLEY_HUMAN_KEY"], "GET", "/v1/keys", nil); a.Status != 200 ||
		strings.Count(string(a.Body), `"kind"`) != 3 {
		t.Errorf("got %s, want three keys", a)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d: %s", code, p.err)
	}

	again := serve(t, nil, local(data)...)
	if found := secret.FindAllString(again.out.String()+again.err.String(), -1); found != nil {
		t.Errorf("the second start prints secrets: %s", again.out)
	}
	if !strings.Contains(again.out.String(), filepath.Join(data, "keys.env")) {
		t.Errorf("the second start does not name the file with the keys: %s", again.out)
	}
	now := keysEnv(t, data)
	if now["PARLEY_URL"] != again.URL+"/mcp" {
		t.Errorf("keys.env has the URL %s, want that of the second start, %s", now["PARLEY_URL"], again.URL)
	}
	for name, key := range vars {
		if name != "PARLEY_URL" && now[name] != key {
			t.Errorf("the second start changed %s", name)
		}
	}
	if info, err := os.Stat(filepath.Join(data, "keys.env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after the second start: got %v, %v", info.Mode(), err)
	}
	if a := again.call(vars["PARLEY_KEY"], "GET", "/v1/tasks?target=alpha", nil); !strings.Contains(string(a.Body),
		`"source":"beta"`) {
		t.Errorf("after the second start: got %s, want the task of the first", a)
	}
	if code := again.stop(os.Interrupt); code != 0 {
		t.Errorf("at an interrupt: exit %d: %s", code, again.err)
	}
	if left, err := filepath.Glob(filepath.Join(data, ".keys-*")); err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAServerWithoutItsKeysFileTellsHowToCreateAKey(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	makeKey(t, data, "--program", "alpha") // keys there are, a keys.env there is not
	p := serve(t, nil, local(data)...)
	if text := p.out.String(); strings.Contains(text, "keys.env") || !strings.Contains(text, "parley key create") {
		t.Errorf("it names a missing file: %s", text)
	}
}

func TestSIGTERMEndsAllWaitsAndTheServer(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"sqlite", "firestore"} {
		t.Run(s, func(t *testing.T) {
			t.Parallel()
			p, human, newKey := either(t, s)
			const waits = 8
			type end struct {
				a   reply
				err error
			}
			ends := make(chan end, waits)
			for i := range waits {
				key := newKey(fmt.Sprintf("program%d", i))
				go func() {
					var e end
					if i%2 == 0 {
						e.a, e.err = p.try(t.Context(), key, "GET", "/v1/messages?waitMs=55000", nil)
					} else {
						e.a, e.err = p.try(t.Context(), key, "POST", "/mcp",
							message(1, "tools/call",
								map[string]any{"name": "get_messages", "arguments": map[string]any{"waitMs": 55000}}))
					}
					ends <- e
				}()
			}
			// The use of a key is recorded while its call is in progress.
			used := func() int {
				return strings.Count(string(p.call(human, "GET", "/v1/keys?limit=100", nil).Body), `"lastUsedAt"`)
			}
			for deadline := time.Now().Add(patience); used() < waits+1; {
				if time.Now().After(deadline) {
					t.Fatal("the waits do not arrive")
				}
			}
			if code := p.stop(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d: %s", code, p.err)
			}
			for range waits {
				e := <-ends
				if e.err != nil || e.a.Status != 200 ||
					!strings.Contains(strings.ReplaceAll(string(e.a.Body), `\"`, `"`), `"messages":[]`) {
					t.Errorf("a wait came to %s, %v; want 200 and no messages", e.a, e.err)
				}
			}
			logged(t, p)
		})
	}
}

// logged checks that all lines of the log are entries for Cloud Logging, without secrets.
func logged(t *testing.T, p *process) {
	t.Helper()
	if found := secret.FindString(p.err.String()); found != "" {
		t.Error("the log holds a key")
	}
	for line := range strings.Lines(p.err.String()) {
		var l struct{ Severity, Message, Timestamp string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Severity == "" || l.Message == "" ||
			l.Timestamp == "" {
			t.Errorf("the log has the line %q, %v", line, err)
		}
	}
}

func TestKeysAreCreatedWithAndWithoutARunningServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	before := makeKey(t, data, "--program", "alpha")
	p := serve(t, nil, local(data)...)
	out, errOut, code := command(t, nil, "key", "create", "--data", data, "--user", "local", "--program", "gamma",
		"--scopes", "read,relay", "--name", "of a test", "--expires", "1h")
	if !regexp.MustCompile(`^`+secret.String()+`\n$`).MatchString(out) || errOut != "" || code != 0 {
		t.Fatalf("got %q, %q, exit %d; want the key and nothing else", out, errOut, code)
	}
	during := strings.TrimSuffix(out, "\n")
	human := makeKey(t, data, "--kind", "human")
	for name, key := range map[string]string{"made before": before, "made beside it": during, "of a human": human} {
		if a := p.call(key, "GET",
			"/v1/messages?target="+map[string]string{before: "alpha", during: "gamma", human: "x"}[key],
			nil); a.Status != 200 {
			t.Errorf("a key %s: got %s", name, a)
		}
	}
	if a := p.call(during, "POST", "/v1/messages",
		map[string]any{"message": "m", "source": "gamma", "target": "x", "message_type": "PING"}); a.Status != 403 {
		t.Errorf("a key that reads writes: got %s", a)
	}
	if a := p.call(during, "GET", "/v1/tasks", nil); a.Status != 403 {
		t.Errorf("a key of one toolset, outside of it: got %s", a)
	}
	if a := p.call(human, "GET", "/v1/keys", nil); a.Status != 200 || !strings.Contains(string(a.Body), `"of a test"`) {
		t.Errorf("a human's list: got %s", a)
	}
}

func TestKeysAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	good, bad := makeKey(t, data, "--program", "alpha"),
		makeKey(t, data, "--program", "beta", "--scopes", "read,write", "--expires", "720h")
	makeKey(t, data, "--kind", "human")
	id := func(program string) string {
		t.Helper()
		out, errOut, code := command(t, nil, "key", "list", "--data", data)
		if code != 0 || errOut != "" {
			t.Fatalf("key list: exit %d: %s", code, errOut)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[0], "ID") || secret.MatchString(out) {
			t.Errorf("key list: got %q, want a heading, three keys and no secret", out)
		}
		for _, l := range lines[1:] {
			if f := strings.Fields(l); len(f) > 2 && f[2] == program {
				return f[0] + " " + strings.Join(f[3:], " ")
			}
		}
		t.Fatalf("key list: %q has no %s", out, program)
		return ""
	}
	before := id("beta")
	hash, _, _ := strings.Cut(before, " ")
	if !strings.Contains(before, " read,write ") || !strings.Contains(before, " valid until 2") {
		t.Errorf("key list: got %q", before)
	}
	p := serve(t, nil, local(data)...)
	for _, key := range []string{good, bad} {
		if a := p.call(key, "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Fatal(a)
		}
	}
	out, errOut, code := command(t, nil, "key", "revoke", "--data", data, hash)
	if out != "revoked "+hash+"\n" || errOut != "" || code != 0 {
		t.Errorf("key revoke: got %q, %q, exit %d", out, errOut, code)
	}
	if now := id("beta"); !strings.Contains(now, " revoked 2") {
		t.Errorf("key list: got %q, want it revoked", now)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d: %s", code, p.err)
	}
	p = serve(t, nil, local(data)...)
	if a := p.call(bad, "GET", "/v1/tasks", nil); a.Status != 401 || a.Fault().Message != "this key was revoked" {
		t.Errorf("a revoked key: got %s, want 401", a)
	}
	if a := p.call(good, "GET", "/v1/tasks", nil); a.Status != 200 {
		t.Errorf("the other key: got %s", a)
	}
}

func TestTheEnvironmentSetsTheAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  func(data string) []string
		args []string
		host string
	}{
		"PARLEY_ADDR": {func(d string) []string {
			return []string{"PARLEY_ADDR=127.0.0.1:0", "PARLEY_DATA=" + d}
		}, nil, "http://127.0.0.1:"},
		"localhost": {func(d string) []string {
			return []string{"PARLEY_DATA=" + d}
		}, []string{"--addr", "localhost:0"}, "http://localhost:"},
		"PORT": {func(d string) []string {
			return []string{"PORT=0", "PARLEY_DATA=" + d}
		}, nil, "http://127.0.0.1:"},
		"a flag": {func(d string) []string {
			return []string{"PORT=1", "PARLEY_ADDR=nonsense", "PARLEY_DATA=/nonsense"}
		}, nil, "http://127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			args := c.args
			if name == "a flag" {
				args = local(data)
			}
			p := serve(t, c.env(data), args...)
			if !strings.HasPrefix(p.URL, c.host) || strings.HasSuffix(p.URL, ":0") {
				t.Errorf("got the URL %s, want %s", p.URL, c.host)
			}
			vars := keysEnv(t, data)
			if a := p.call(vars["PARLEY_KEY"], "GET", "/v1/tasks", nil); a.Status != 200 {
				t.Errorf("got %s", a)
			}
			if _, err := os.Stat(filepath.Join(data, "parley.db")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheVersionIsThatOfTheBuild(t *testing.T) {
	t.Parallel()
	if out, errOut, code := command(t, nil, "version"); out != stamped+"\n" || errOut != "" || code != 0 {
		t.Errorf("got %q, %q, exit %d", out, errOut, code)
	}
	p := serve(t, nil, local(t.TempDir())...)
	if a := p.call("", "GET", "/v1/health", nil); !strings.Contains(string(a.Body), `"version":"`+stamped+`"`) {
		t.Errorf("health: got %s", a)
	}
	if !strings.HasPrefix(p.out.String(), "Parley "+stamped+" serves") {
		t.Errorf("got %q", p.out)
	}
}

// written holds the ids of acknowledged writes.
type written struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (w *written) add(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids[id] = true
	return len(w.ids)
}

func TestAcknowledgedWritesSurviveAKill(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	key := makeKey(t, data, "--program", "alpha")
	kept := written{ids: map[string]bool{}}
	for round := range 3 {
		p := serve(t, nil, local(data)...)
		enough := make(chan struct{})
		var once sync.Once
		var clients sync.WaitGroup
		goal := (round + 1) * 120
		for c := range 8 {
			clients.Go(func() {
				for i := 0; ; i++ {
					id, err := p.write(t.Context(), key, c, i)
					if err != nil {
						return // the server was killed; an unacknowledged write may be kept or lost
					}
					if kept.add(id) >= goal {
						once.Do(func() { close(enough) })
					}
				}
			})
		}
		select {
		case <-enough:
		case <-time.After(patience):
			t.Errorf("round %d: the clients make no progress: %s", round, p.err)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.ended
		clients.Wait()
	}
	p := serve(t, nil, local(data)...)
	found := map[string]bool{}
	for _, list := range []string{"/v1/tasks?limit=50", "/v1/messages?includeDelivered=true&limit=100"} {
		for cursor, more := "", true; more; more = cursor != "" {
			var page struct {
				Tasks, Messages []struct{ ID string }
				NextCursor      string
			}
			if err := p.call(key, "GET", list+"&cursor="+cursor, nil).Into(&page); err != nil {
				t.Fatal(err)
			}
			for _, d := range append(page.Tasks, page.Messages...) {
				if found[d.ID] {
					t.Errorf("%s is listed twice", d.ID)
				}
				found[d.ID] = true
			}
			cursor = page.NextCursor
		}
	}
	lost := 0
	for id := range kept.ids {
		if !found[id] {
			lost++
		}
	}
	if lost > 0 || len(kept.ids) < 360 {
		t.Errorf("of %d acknowledged writes %d were lost", len(kept.ids), lost)
	}
	t.Logf("%d acknowledged, %d found", len(kept.ids), len(found))
}

func TestAClientThatSpeaksHTTPSIsInTheLog(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, local(t.TempDir())...)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "http://"), &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "localhost"})
	if err == nil {
		_ = conn.Close()
		t.Fatal("a server of plain HTTP answers in TLS")
	}
	domaintest.Eventually(t, "the log tells of it", func() bool {
		return strings.Contains(p.err.String(), "the client speaks https to a server of plain http: give it a URL that begins with http://")
	})
	p.waitHealthy()
}
