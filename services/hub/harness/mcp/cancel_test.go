package mcp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/relay"
)

const cancelled = `"method":"notifications/cancelled","params":{"requestId":7`

// upperCase names the message that mcp-go would take for a cancellation, and that is none.
const upperCase = "in upper case"

// cancellations are messages that cancel request 7, but for upperCase.
var cancellations = map[string]string{
	"plain":                         `{"jsonrpc":"2.0",` + cancelled + `,"reason":"r"}}`,
	"as a request":                  `{"jsonrpc":"2.0","id":1,` + cancelled + `}}`,
	"with a name that is no string": `{"jsonrpc":"2.0",` + cancelled + `,"name":5}}`,
	"with a name twice":             `{"jsonrpc":"2.0",` + cancelled + `,"name":{}},"params":{"requestId":7}}`,
	upperCase:                       `{"jsonrpc":"2.0","METHOD":"notifications/cancelled","params":{"requestId":7}}`,
	"escaped": `{"jsonrpc":"2.0","method":"notifications\/cancell\u0065d",` +
		`"params":{"requestId":7}}`,
	"after another method": `{"jsonrpc":"2.0","method":"ping",` + cancelled + `}}`,
	"with invalid UTF-8":   `{"jsonrpc":"2.0",` + cancelled + ",\"reason\":\"\xff\"}}",
	"of the era of 2026-07-28": `{"jsonrpc":"2.0",` + cancelled + `,` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`,
}

// Without sessions mcp-go identifies a request by its id alone, so the front ends the waits.
func TestACancellationEndsTheWaitsOfItsOwnKeyAlone(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	hub := newHub(t, hubtest.Options{Catalogue: func(a *app.App) *op.Catalogue {
		// A get_messages that reports each call.
		get := a.Catalogue().Op("get_messages").Spec
		get.Compat = nil
		c := op.NewCatalogue([]op.Op{op.New(get,
			func(ctx context.Context, c identity.Caller, in relay.GetInput) (relay.GetOutput, error) {
				entered <- struct{}{}
				return a.Relay.Get(ctx, c, in)
			})})
		c.Defaults = c.Toolsets()
		return c
	}})
	for name, body := range cancellations {
		user := strings.ReplaceAll(name, " ", "-")
		waiter, other := hub.Agent(user, "alpha"), hub.Agent("other", "alpha")
		headers := []string{}
		if strings.Contains(name, "2026") {
			headers = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "notifications/cancelled"}
		}
		own := `"messages":[]`
		if name == upperCase {
			own = "still here?"
		}
		for _, by := range []struct {
			key string
			// early sends the message before the end of the wait is awaited.
			early bool
			want  string
		}{{other, true, "still here?"}, {waiter, name == upperCase, own}} {
			done := wait(t, hub, waiter)
			<-entered
			if a := hub.MCP(by.key, "/mcp", body, headers...); a.Status != http.StatusAccepted || len(a.Body) != 0 {
				t.Errorf("%s: got %s, want 202 and nothing", name, a.Answer)
			}
			if by.early {
				send(t, hub, user)
			}
			e := <-done
			if e.err != nil || !strings.Contains(string(e.a.Result), by.want) ||
				!strings.Contains(string(e.a.Body), `"id":7`) {
				t.Errorf("%s: the waiting call returned %s, %v; want %s", name, e.a.Answer, e.err, by.want)
			}
		}
		// A message after the cancelled wait is for the next wait.
		send(t, hub, user)
		done := wait(t, hub, waiter)
		<-entered
		if e := <-done; e.err != nil || !strings.Contains(string(e.a.Result), "still here?") {
			t.Errorf("%s: after the cancelled wait the next returned %s, %v", name, e.a.Answer, e.err)
		}
	}
}

// A client that has cancelled a call drops its answer, even one that was on its way.
func TestACancellationBeforeTheAnswerIsWrittenGivesTheMailBack(t *testing.T) {
	t.Parallel()
	read, release := make(chan struct{}), make(chan struct{})
	hub := newHub(t, hubtest.Options{Catalogue: func(a *app.App) *op.Catalogue {
		// A get_messages that has read and does not return yet.
		get := a.Catalogue().Op("get_messages").Spec
		get.Compat = nil
		c := op.NewCatalogue([]op.Op{op.New(get,
			func(ctx context.Context, c identity.Caller, in relay.GetInput) (relay.GetOutput, error) {
				out, err := a.Relay.Get(ctx, c, in)
				read <- struct{}{}
				<-release
				return out, err
			})})
		c.Defaults = c.Toolsets()
		return c
	}})
	for name, era := range map[string][]string{
		"legacy": nil, "modern": {"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "notifications/cancelled"},
	} {
		user := "cancels-" + name
		waiter, body := hub.Agent(user, "alpha"), cancellations["plain"]
		if era != nil {
			body = cancellations["of the era of 2026-07-28"]
		}
		send(t, hub, user)
		done := wait(t, hub, waiter)
		<-read
		if a := hub.MCP(waiter, "/mcp", body, era...); a.Status != http.StatusAccepted {
			t.Errorf("%s: got %s, want 202", name, a.Answer)
		}
		release <- struct{}{}
		<-done
		again := wait(t, hub, waiter)
		<-read
		release <- struct{}{}
		if e := <-again; e.err != nil || !strings.Contains(string(e.a.Result), "still here?") ||
			!strings.Contains(string(e.a.Result), `"again":true`) {
			t.Errorf("%s: the next call returned %s, %v", name, e.a.Answer, e.err)
		}
	}
}

// waited is the end of a waiting call.
type waited struct {
	a   hubtest.RPCAnswer
	err error
}

// wait calls get_messages with a wait, under the id 7.
func wait(t *testing.T, hub *hubtest.Hub, key string) <-chan waited {
	t.Helper()
	done := make(chan waited, 1)
	go func() {
		a, err := hub.TryMCP(t.Context(), key, "/mcp",
			hubtest.Message(7, "tools/call", args{"name": "get_messages", "arguments": args{"waitMs": 55000}}))
		done <- waited{a, err}
	}()
	return done
}

func send(t *testing.T, hub *hubtest.Hub, user string) {
	t.Helper()
	if _, err := hub.App.Relay.Send(t.Context(), identity.Caller{User: user},
		op.Fill(relay.SendInput{Message: "still here?", Target: "alpha", MessageType: "PING"})); err != nil {
		t.Fatal(err)
	}
}
