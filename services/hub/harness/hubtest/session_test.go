package hubtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// member is one of several clients that share a key. Each call carries its session, if it has one.
type member struct {
	t       *testing.T
	hub     *hubtest.Hub
	key     string
	session string
	mcp     bool
}

// call calls an operation over the member's transport and returns its output and its fault's code.
func (m member) call(name string, in map[string]any) (out map[string]any, code string) {
	m.t.Helper()
	var header []string
	if m.session != "" {
		header = []string{identity.SessionHeader, m.session}
	}
	if m.mcp {
		a := m.hub.Tool(m.key, "/mcp?toolsets=all", name, in, header...)
		if a.IsError {
			return nil, a.Fault().Code
		}
		return object(m.t, a.Structured), ""
	}
	a := m.hub.Op(m.key, m.hub.Catalogue.Op(name), in, header...)
	if f := a.Fault(); f.Code != "" {
		return nil, f.Code
	}
	return object(m.t, a.Data()), ""
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// must returns the output of a call that succeeds.
func (m member) must(name string, in map[string]any) map[string]any {
	m.t.Helper()
	out, code := m.call(name, in)
	if code != "" {
		m.t.Fatalf("%s of %q: %s", name, m.session, code)
	}
	return out
}

// mail returns the texts of the member's mail.
func (m member) mail() string {
	m.t.Helper()
	var texts []string
	for _, v := range m.must("get_messages", map[string]any{})["messages"].([]any) {
		texts = append(texts, fmt.Sprint(v.(map[string]any)["message"]))
	}
	return strings.Join(texts, " ")
}

func TestClientsUnderOneKeyTakeNeitherMailNorClaimsOfEachOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		for _, overMCP := range []bool{false, true} {
			t.Run(fmt.Sprintf("mcp=%v", overMCP), func(t *testing.T) {
				t.Parallel()
				user := fmt.Sprintf("u-%v", overMCP)
				hub := hubtest.New(t, db, hubtest.Options{})
				plain := member{t, hub, hub.Agent(user, "claude"), "", overMCP}
				beta := member{t, hub, hub.Agent(user, "beta"), "", overMCP}
				var clients []member
				for i := range 3 {
					c := plain
					c.session = fmt.Sprint(c.must("create_session", map[string]any{"name": "a client"})["address"])
					if want := fmt.Sprintf("claude/%d", i+1); c.session != want {
						t.Fatalf("client %d has the address %s, want %s", i+1, c.session, want)
					}
					clients = append(clients, c)
				}
				readTheirOwnMail(t, beta, plain, clients)
				keepTheirClaims(t, beta, plain, clients)
				describeThemselves(t, beta, plain, clients)
			})
		}
	})
}

// send sends a message whose text is its target and its delivery.
func (m member) send(target, delivery string) {
	m.must("send_message", map[string]any{"message": "to-" + target + "-" + delivery, "target": target,
		"message_type": "STATUS", "delivery": delivery})
}

func readTheirOwnMail(t *testing.T, beta, plain member, clients []member) {
	t.Helper()
	beta.send("claude/2", "one")
	beta.send("claude", "each")
	if got := plain.mail(); got != "" {
		t.Errorf("a call of no session reads %q", got)
	}
	for i, want := range []string{"to-claude-each", "to-claude/2-one to-claude-each", "to-claude-each"} {
		if got := clients[i].mail(); got != want {
			t.Errorf("client %d reads %q, want %q", i+1, got, want)
		}
	}
}

func keepTheirClaims(t *testing.T, beta, plain member, clients []member) {
	t.Helper()
	id := beta.must("create_task", map[string]any{"title": "t", "target": "claude"})["taskId"]
	clients[0].must("claim_task", map[string]any{"taskId": id})
	named := plain
	named.session = "claude/build"
	for name, c := range map[string]member{"another client": clients[1], "a client of another name": named} {
		for _, op := range []string{"complete_task", "claim_task"} {
			if _, code := c.call(op, map[string]any{"taskId": id}); code != "FAILED_PRECONDITION" {
				t.Errorf("%s: %s of %s is answered %q", name, op, id, code)
			}
		}
	}
	if out := clients[0].must("claim_task", map[string]any{"taskId": id}); out["alreadyClaimed"] != true {
		t.Errorf("its own claim is %v", out)
	}
	clients[0].must("complete_task", map[string]any{"taskId": id})
}

func describeThemselves(t *testing.T, beta, plain member, clients []member) {
	t.Helper()
	clients[2].must("update_session", map[string]any{"status": "mine"})
	for _, v := range plain.must("list_sessions", map[string]any{})["sessions"].([]any) {
		s := v.(map[string]any)
		if status, _ := s["status"].(string); (status == "mine") != (s["address"] == "claude/3") {
			t.Errorf("%v has the status %q", s["address"], status)
		}
	}
	if got := clients[1].must("whoami", map[string]any{})["session"]; got != "claude/2" {
		t.Errorf("whoami says %v", got)
	}
	beta.send("claude/3", "one")
	clients[2].must("update_session", map[string]any{"state": "complete"})
	got := plain.must("get_messages", map[string]any{})["messages"].([]any)
	if len(got) != 1 || got[0].(map[string]any)["addressedTo"] != "claude/3" {
		t.Errorf("the mail of an ended session is %v", got)
	}
}

func TestTheSessionHeaderIsCheckedBeforeTheCall(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	key := hub.Agent("u", "claude")
	hub.Agent("u", "codex")
	for session, want := range map[string]fault.Kind{
		"codex/1": fault.Forbidden, "a b": fault.Invalid, "claude/1/2": fault.Invalid, strings.Repeat("x", 101): fault.Invalid,
	} {
		a := hub.REST(key, http.MethodGet, "/v1/me", nil, identity.SessionHeader, session)
		if a.Status != want.HTTP() || a.Fault().Code != want.Code() {
			t.Errorf("REST with the session %q: %s", session, a)
		}
		m := hub.MCP(key, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, identity.SessionHeader, session)
		if m.Status != want.HTTP() {
			t.Errorf("MCP with the session %q: %s", session, m.Answer)
		}
	}
}

func TestAnAddressIsPartOfAPathWhenItIsEncoded(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	key := hub.Agent("u", "claude")
	hub.REST(key, http.MethodPost, "/v1/sessions", map[string]any{"name": "n"})
	a := hub.REST(key, http.MethodPatch, "/v1/sessions/claude%2F1", map[string]any{"progress": 7})
	if out := object(t, a.Data()); a.Status != http.StatusOK || fmt.Sprint(out["progress"]) != "7" {
		t.Errorf("answered %s", a)
	}
}

func TestAnUnboundKeyHasNoSessionOfAProgramWithAKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		alpha, beta := hub.Agent("u", "alpha"), hub.Agent("u", "beta")
		loose := hub.Key("u", keys.CreateInput{})
		for _, overMCP := range []bool{false, true} {
			owner := member{t, hub, beta, "beta/5", overMCP}
			owner.must("create_session", map[string]any{"name": "n", "sessionId": "beta/5"})
			member{t, hub, alpha, "", overMCP}.must("send_message",
				map[string]any{"message": "secret", "target": "beta/5", "message_type": "STATUS"})
			thief := member{t, hub, loose, "beta/5", overMCP}
			for name, in := range map[string]map[string]any{
				"get_messages": {"target": "zz"}, "whoami": {}, "send_message": {"message": "m", "source": "zz",
					"target": "alpha", "message_type": "STATUS"}, "list_sessions": {},
			} {
				if out, code := thief.call(name, in); code != "FORBIDDEN" {
					t.Errorf("%s in the session of another: %v, %q", name, out, code)
				}
			}
			if got := owner.mail(); got != "secret" {
				t.Errorf("its own session reads %q", got)
			}
		}
	})
}
