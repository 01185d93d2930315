package auth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/store/storetest"
)

// journal collects the lines of a log.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

// refusals returns the lines about refusals so far, and the text of the whole log, which is forgotten.
func (j *journal) refusals(t *testing.T) (lines []map[string]any, text string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	text = j.buf.String()
	j.buf.Reset()
	for l := range strings.Lines(text) {
		var one map[string]any
		if err := json.Unmarshal([]byte(l), &one); err != nil {
			t.Fatal(err)
		}
		if one["msg"] == "refused" {
			lines = append(lines, one)
		}
	}
	return lines, text
}

func TestEachRefusalLeavesOneLineOverBothTransports(t *testing.T) {
	t.Parallel()
	j := &journal{}
	clock := &domaintest.Clock{}
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{Now: clock.Now,
		Limits: auth.Limits{Rate: 0.001, Burst: 2, Proxies: 1}, Log: slog.New(slog.NewJSONHandler(j, nil))})
	agent, revoked := hub.NewKey("u", keys.CreateInput{Program: "alpha"}), hub.NewKey("u", keys.CreateInput{})
	human := hub.Human("u")
	if a := hub.REST(human, "DELETE", "/v1/keys/"+revoked.ID, nil); a.Status != 200 {
		t.Fatal(a)
	}
	j.refusals(t)
	ops := hub.Catalogue.Ops()
	create := ops[slices.IndexFunc(ops, func(o *op.Op) bool { return o.Route == "POST /v1/keys" })]
	input := map[string]any{"kind": "human"}
	list := hubtest.Message(1, "tools/list", nil)
	for i, c := range []struct {
		name   string
		call   func(headers ...string) hubtest.Answer
		status float64
		keyID  any
		reason string
	}{
		{"no key", func(h ...string) hubtest.Answer { return hub.Raw("GET", "/v1/tasks", nil, h...) }, 401, nil,
			"a key is required"},
		{"a revoked key", func(h ...string) hubtest.Answer { return hub.REST(revoked.Key, "GET", "/v1/tasks", nil, h...) },
			401, revoked.ID, "this key was revoked"},
		{"a revoked key over MCP", func(h ...string) hubtest.Answer { return hub.MCP(revoked.Key, "/mcp", list, h...).Answer },
			401, revoked.ID, "this key was revoked"},
		{"a forbidden operation", func(h ...string) hubtest.Answer {
			return hub.REST(agent.Key, "POST", "/v1/keys", input, h...)
		},
			403, agent.ID, create.Name + " is for a human's key"},
		{"a forbidden tool, which HTTP answers with 200", func(h ...string) hubtest.Answer {
			return hub.Tool(agent.Key, "/mcp/x/"+create.Toolset, create.Name, input, h...).Answer
		}, 403, agent.ID, create.Name + " is for a human's key"},
		{"a call past the rate", func(h ...string) hubtest.Answer { return hub.REST(agent.Key, "GET", "/v1/tasks", nil, h...) },
			429, agent.ID, "calls a second"},
		{"a page of another origin", func(h ...string) hubtest.Answer {
			return hub.REST(human, "GET", "/v1/tasks", nil, append(h, "Origin", "https://evil.example")...)
		}, 403, nil, "the Origin must be one that the operator allows"},
	} {
		address, id := fmt.Sprintf("192.0.2.%d", i), fmt.Sprintf("request-%d", i)
		a := c.call("X-Forwarded-For", address, "X-Request-Id", id)
		lines, text := j.refusals(t)
		if len(lines) != 1 {
			t.Errorf("%s: got %s and the log %s, want one line about a refusal", c.name, a, text)
			continue
		}
		l := lines[0]
		reason, _ := l["reason"].(string)
		if l["status"] != c.status || l["address"] != address || l["requestId"] != id ||
			(c.keyID != nil && l["keyId"] != c.keyID) || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: got %v, want %v of %s, key %v, because %s", c.name, l, c.status, address, c.keyID, c.reason)
		}
		for _, secret := range []string{agent.Key, revoked.Key, human} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: the log tells a key: %s", c.name, text)
			}
		}
	}
}

func TestABadKeyIsToldWhyAndAMissingOneIsNot(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	revoked := hub.NewKey("u", keys.CreateInput{})
	if a := hub.REST(hub.Human("u"), "DELETE", "/v1/keys/"+revoked.ID, nil); a.Status != 200 {
		t.Fatal(a)
	}
	bad := func(why string) string {
		return `Bearer realm="parley", error="invalid_token", error_description="` + why + `"`
	}
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"no key":         {nil, `Bearer realm="parley"`},
		"another scheme": {[]string{"Authorization", "Basic YTpi"}, `Bearer realm="parley"`},
		"an unknown key": {[]string{"Authorization", "Bearer sk-123"}, bad("this key is not known")},
		"a revoked key":  {[]string{"Authorization", "Bearer " + revoked.Key}, bad("this key was revoked")},
	} {
		for _, a := range []hubtest.Answer{hub.Raw("GET", "/v1/tasks", nil, c.headers...),
			hub.Raw("POST", "/mcp", hubtest.Message(1, "tools/list", nil), c.headers...)} {
			if got := a.Header.Values("WWW-Authenticate"); a.Status != 401 || len(got) != 1 || got[0] != c.want {
				t.Errorf("%s: got %s with WWW-Authenticate %q, want %s", name, a, got, c.want)
			}
		}
	}
	if a := hub.REST(hub.Agent("u", "alpha"), "POST", "/v1/keys", map[string]any{"kind": "human"}); a.Status != 403 ||
		a.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("a forbidden call: got %s with WWW-Authenticate %q, want 403 without", a, a.Header.Get("WWW-Authenticate"))
	}
}

// The flood and the good keys share an address, as machines behind one router do.
func TestAttackAFloodOfBadKeysBesideGoodOnes(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	known := hub.Agent("u", "alpha")
	if a := hub.REST(known, "GET", "/v1/tasks", nil); a.Status != 200 {
		t.Fatal(a)
	}
	bad := strings.TrimRight(known, "abcdefghijklmnopqrstuvwxyz234567") // a well-formed key of the same user
	var flood sync.WaitGroup
	stop := make(chan struct{})
	for w := range 8 {
		flood.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := bad + strings.Repeat("a", 40) + encode(w) + encode(i)
				a, err := hub.Try(t.Context(), "GET", "/v1/tasks", nil, "Authorization", "Bearer "+key)
				if err == nil && a.Status != 401 && a.Status != 429 {
					t.Errorf("a bad key: got %s", a)
				}
			}
		})
	}
	for hub.REST("bad", "GET", "/v1/tasks", nil).Status != 429 { // until the flood has spent the address's bad keys
	}
	for i := range 20 {
		if a := hub.REST(known, "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Errorf("a known key in the flood: got %s", a)
		}
		if a := hub.REST(hub.Agent("u", fmt.Sprintf("beta%d", i)), "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Errorf("a new key in the flood: got %s", a)
		}
	}
	close(stop)
	flood.Wait()
}

// encode writes a number with six letters of a key.
func encode(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	b := make([]byte, 6)
	for i := range b {
		b[i] = letters[n&31]
		n >>= 5
	}
	return string(b)
}
