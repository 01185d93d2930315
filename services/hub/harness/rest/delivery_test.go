package rest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/relay"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// request is the text of a request that waits for a message, over REST or MCP.
func request(key, host string, overMCP bool, confirm bool) string {
	path, body := "/v1/messages/read", fmt.Sprintf(`{"waitMs":20000,"confirm":%v}`, confirm)
	if overMCP {
		path = "/mcp"
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_messages","arguments":%s}}`, body)
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", path, host, key, len(body), body)
}

// A reader begins to wait, and its connection is closed in different ways; then a message is sent, and read again.
func TestAMessageIsNotLostWithTheConnectionOfItsReader(t *testing.T) {
	t.Parallel()
	// The emulator serves one of two readers that contend, and the other only after many seconds.
	rounds := map[string]int{"sqlite": 5, "firestore": 2}
	ends := map[string]func(*testing.T, net.Conn){
		"FIN": func(t *testing.T, c net.Conn) { domaintest.Check(t, c.Close()) },
		"RST": func(t *testing.T, c net.Conn) {
			domaintest.Check(t, c.(*net.TCPConn).SetLinger(0))
			domaintest.Check(t, c.Close())
		},
	}
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		_, driver, _ := strings.Cut(t.Name(), "/")
		hub := hubtest.New(t, db, hubtest.Options{})
		for how, end := range ends {
			for _, overMCP := range []bool{false, true} {
				for _, atOnce := range []bool{false, true} {
					if driver == "firestore" && atOnce != overMCP {
						continue
					}
					name := fmt.Sprintf("%s-%v-%v", how, overMCP, atOnce)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						alpha, beta := hub.Agent(name, "alpha"), hub.Agent(name, "beta")
						for i := range rounds[driver] {
							conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", hub.Addr())
							domaintest.Check(t, err)
							_, err = conn.Write([]byte(request(beta, hub.Addr(), overMCP, false)))
							domaintest.Check(t, err)
							if !atOnce {
								time.Sleep(50 * time.Millisecond) // most likely it waits now; nothing depends on it
							}
							end(t, conn)
							text := fmt.Sprintf("message %d", i)
							if _, err := hub.Client(alpha).SendMessage(t.Context(), relay.SendInput{Message: text, Target: "beta",
								MessageType: "RESULT"}); err != nil {
								t.Fatal(err)
							}
							got, err := hub.Client(beta).GetMessages(t.Context(), relay.GetInput{WaitMs: 20_000})
							if err != nil || len(got.Messages) != 1 || got.Messages[0].Message != text {
								t.Errorf("round %d: the next read has %+v, %v", i, got.Messages, err)
							}
						}
					})
				}
			}
		}
	})
}

// A dead connection that neither end has closed: with a receipt the message comes again.
func TestAMessageIsNotLostWithoutItsReceipt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := &domaintest.Clock{}
		hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
		alpha, beta := hub.Agent("u", "alpha"), hub.Agent("u", "beta")
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", hub.Addr())
		domaintest.Check(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = conn.Write([]byte(request(beta, hub.Addr(), false, true)))
		domaintest.Check(t, err)
		hub.REST(alpha, http.MethodPost, "/v1/messages",
			map[string]any{"message": "hello", "target": "beta", "message_type": "RESULT"})
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("the lost answer begins %q, %v", line, err) // it is written; nobody reads the rest
		}
		read := func(in map[string]any) string {
			return string(hub.REST(beta, http.MethodPost, "/v1/messages/read", in).Body)
		}
		if got := read(map[string]any{"confirm": true}); strings.Contains(got, "hello") {
			t.Errorf("at once it comes again: %s", got)
		}
		clock.Pass(2 * time.Minute)
		if got := read(map[string]any{"confirm": true}); !strings.Contains(got, "hello") || !strings.Contains(got, `"again":true`) {
			t.Errorf("after 120 s the read has %s", got)
		}
	})
}

func TestAConsumingReadByGETPeeksIfItPrefersTo(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	alpha := hub.Agent("u", "alpha")
	hub.REST(alpha, http.MethodPost, "/v1/messages",
		map[string]any{"message": "hello", "target": "alpha", "message_type": "RESULT"})
	for _, prefer := range []string{"peek", "respond-async, Peek; q=1", "markAsRead"} {
		a := hub.REST(alpha, http.MethodGet, "/v1/messages", nil, "Prefer", prefer)
		if !strings.Contains(string(a.Body), "hello") {
			t.Errorf("with Prefer: %s: %s", prefer, a)
		}
	}
	if a := hub.REST(alpha, http.MethodGet, "/v1/messages", nil); strings.Contains(string(a.Body), "hello") {
		t.Errorf("the last one did not mark the message: %s", a)
	}
}

func TestTheRoutesOfATeamsInboxReadIt(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	alpha, ann := hub.Agent("u", "alpha"), hub.Agent("u", "ann")
	hub.REST(alpha, http.MethodPost, "/v1/teams", map[string]any{"team_name": "core"})
	hub.REST(alpha, http.MethodPost, "/v1/teams/core/members", map[string]any{"name": "ann", "prompt": "the prompt",
		"backend_type": "external"})
	const inbox = "/v1/teams/core/inboxes/ann"
	for i, c := range []struct {
		method, path string
		body         any
		headers      []string
		unread       bool
	}{
		{http.MethodGet, inbox + "?unread_only=true&mark_as_read=false", nil, nil, true},
		{http.MethodGet, inbox + "?unread_only=true", nil, []string{"Prefer", "peek"}, true},
		{http.MethodGet, inbox + "?unread_only=true", nil, nil, true},
		{http.MethodPost, inbox + "/read", map[string]any{"unread_only": true}, nil, false},
		{http.MethodGet, inbox + "/poll?timeout_ms=0", nil, nil, false},
		{http.MethodPost, inbox + "/poll", map[string]any{"timeout_ms": 0}, nil, false},
	} {
		a := hub.REST(ann, c.method, c.path, c.body, c.headers...)
		if a.Status != http.StatusOK || strings.Contains(string(a.Body), "the prompt") != c.unread {
			t.Errorf("%d: %s %s: %s", i, c.method, c.path, a)
		}
	}
}
