package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/services/hub/internal/stdio"
	"parley.internal/services/hub/internal/stdio/stdiotest"
)

func TestALineIsPostedAndItsAnswerIsALine(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": \"a\",\n  \"result\": {\"text\": \"<&>\"}\n}\n")
	})
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) {
		b.Key = " " + stdiotest.Secret + "\n"
	})
	sent := `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"n":12345678901234567890}}`
	c.Send("", sent+"\r")
	if got, want := c.Next(), `{"jsonrpc":"2.0","id":"a","result":{"text":"<&>"}}`; got != want {
		t.Errorf("got %s", got)
	}
	c.Ends()
	p := h.Posts()[0]
	if p.Body != sent {
		t.Errorf("the message was changed to %s", p.Body)
	}
	for name, want := range map[string]string{"Authorization": "Bearer " + stdiotest.Secret,
		"Content-Type": "application/json",
		"Accept":       "application/json, text/event-stream", "Mcp-Protocol-Version": "", "Mcp-Session-Id": ""} {
		if got := p.Header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

func TestAnEventStreamIsPassedOnUntilTheAnswer(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\r\n\r\nevent: message\r\ndata: "+
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\n\r\n"+
			"data: not json\n\ndata:{\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n")
		w.(http.Flusher).Flush()
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	c.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_task"}}`)
	stdiotest.Contains(t, c.Next(), "notifications/progress")
	if got := c.Next(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("got %s", got)
	}
	c.Ends()
}

func TestAMessageWithoutAnIDIsNotAnswered(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(n int, _ stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader([]int{202, 202, 400, 401, 502, 202}[n-1])
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	for range 2 {
		c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`)
	}
	c.Send(`{"jsonrpc":"2.0","method":"notifications/other"}`)
	c.Ends()
	if len(h.Posts()) != 6 {
		t.Errorf("%d POSTs: the one met by 502 was not repeated, or more were", len(h.Posts()))
	}
	stdiotest.Contains(t, c.Reports(), "400 Bad Request", "PARLEY_KEY", "502 Bad Gateway")
}

func TestInitializeSetsTheVersionAndTheSession(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(n int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Mcp-Session-Id", "s1")
		}
		stdiotest.Reply(w, p, `{"protocolVersion":"2025-11-25"}`)
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	for _, m := range []string{initialize, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, initialize,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`} {
		c.Send(m)
		c.Next()
	}
	c.Ends()
	want := [][2]string{{"", ""}, {"2025-11-25", "s1"}, {"", ""}, {"2025-11-25", ""}}
	for i, p := range h.Posts() {
		if got := [2]string{p.Header.Get("Mcp-Protocol-Version"), p.Header.Get("Mcp-Session-Id")}; got != want[i] {
			t.Errorf("POST %d has version and session %q, not %q", i+1, got, want[i])
		}
		if p.Header.Get("Mcp-Method") != "" {
			t.Errorf("POST %d of the old era names its method in a header", i+1)
		}
	}
}

func TestAModernMessageIsNamedInHeaders(t *testing.T) {
	t.Parallel()
	const version = "2026-07-28"
	for _, tc := range []struct{ name, method, params, wantName string }{
		{"a tool by its name", "tools/call", `"name":"get_tasks"`, "get_tasks"},
		{"a resource by its URI", "resources/read", `"uri":"a://b"`, "a://b"},
		{"a prompt whose name is no ASCII, encoded", "prompts/get", `"name":"é"`, "=?base64?w6k=?="},
		{"a list by its method alone", "tools/list", `"cursor":"x"`, ""},
	} {
		h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Mcp-Session-Id", "never echoed")
			stdiotest.Reply(w, p, "{}")
		})
		c := stdiotest.Dial(t, h.MCP(), nil)
		for range 2 {
			c.Send(`{"jsonrpc":"2.0","id":1,"method":"` + tc.method + `","params":{` + tc.params +
				`,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `"}}}`)
			c.Next()
		}
		c.Ends()
		got := h.Posts()[1].Header
		if got.Get("Mcp-Protocol-Version") != version || got.Get("Mcp-Method") != tc.method ||
			got.Get("Mcp-Name") != tc.wantName || got.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestAtMost32RequestsRunAtOnce(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	var filled sync.Once
	full, release := make(chan struct{}), make(chan struct{})
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 32 {
			filled.Do(func() { close(full) })
		}
		<-release
		now.Add(-1)
		stdiotest.Reply(w, p, "{}")
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	go func() {
		for i := 1; i <= 40; i++ {
			_, _ = fmt.Fprintf(c.In, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
		}
	}()
	select {
	case <-full:
	case <-time.After(stdiotest.Patience):
		t.Fatalf("only %d at once", now.Load())
	}
	close(release)
	seen := map[string]bool{}
	for range 40 {
		seen[c.Next()] = true
	}
	if len(seen) != 40 || most.Load() != 32 {
		t.Errorf("%d different answers, %d at once", len(seen), most.Load())
	}
	c.Ends()
}

func TestAnInvalidLineIsRefusedAndTheNextIsSent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2<<20)
	for _, tc := range []struct {
		name, line string
		code       int
		id         any
	}{
		{"no JSON", `{"jsonrpc":`, -32700, nil},
		{"no object", `5`, -32600, nil},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, nil},
		{"a method that is no text", `{"id":1,"method":5}`, -32600, nil},
		{"an id that is an object", `{"id":{},"method":"ping"}`, -32600, nil},
		{"too long, with an id at its end", `{"method":"tools/call","params":"` + long + `","id":"z"}`, -32600, "z"},
		{"so long that its id is not found", `{"id":1,"params":"` + strings.Repeat(long, 9) + `"}`, -32600, nil},
	} {
		h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
			stdiotest.Reply(w, p, "{}")
		})
		c := stdiotest.Dial(t, h.MCP(), nil)
		c.Send(tc.line)
		if a := c.Answer(); a.Error.Code != tc.code || a.ID != tc.id || a.Error.Message == "" {
			t.Errorf("%s: %+v", tc.name, a)
		}
		c.Send(`{"id":9,"method":"ping"}`)
		if a := c.Answer(); a.ID != float64(9) || a.Error.Code != 0 {
			t.Errorf("after %s: %+v", tc.name, a)
		}
		c.Ends()
	}
}

func TestAMessageOf1MiBIsSent(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		stdiotest.Reply(w, p, "{}")
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	c.Send(`{"id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`)
	if a := c.Answer(); a.Error.Code != 0 {
		t.Error(a.Error.Message)
	}
	c.Ends()
}

func TestAnswersComeInTheOrderTheyFinish(t *testing.T) {
	t.Parallel()
	second := make(chan struct{})
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		if string(p.ID) == "1" {
			<-second
		}
		stdiotest.Reply(w, p, "{}")
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	c.Send(`{"id":1,"method":"ping"}`, `{"id":2,"method":"ping"}`)
	if a := c.Answer(); a.ID != float64(2) {
		t.Errorf("first came %v", a.ID)
	}
	close(second)
	if a := c.Answer(); a.ID != float64(1) {
		t.Errorf("then came %v", a.ID)
	}
	c.Ends()
}

func TestRunWaitsForAnswersAfterTheEndOfInput(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		stdiotest.Reply(w, p, "{}")
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	go func() {
		_, _ = io.WriteString(c.In, `{"id":1,"method":"ping"}`) // the last line has no end
		_ = c.In.Close()
	}()
	<-arrived
	select {
	case err := <-c.Ended:
		t.Fatalf("the bridge ended before the answer: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	c.Next()
	c.Ends()
}

func TestRunReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	h := stdiotest.Serve(t, func(_ int, _ stdiotest.Post, _ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	c.Send(`{"id":1,"method":"ping"}`)
	<-arrived
	c.Stop()
	if err := c.End(); err != nil {
		t.Errorf("the end is an error: %v", err)
	}
	if len(c.Lines) != 0 || c.Reports() != "" {
		t.Errorf("the end was reported: %q", c.Reports())
	}
}

func TestACancelledRequestIsAbortedWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	arrived, gone := make(chan struct{}), make(chan struct{})
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, r *http.Request) {
		switch p.Method {
		case "tools/call":
			close(arrived)
			<-r.Context().Done()
			close(gone)
		case "notifications/cancelled":
			w.WriteHeader(http.StatusAccepted)
		default:
			stdiotest.Reply(w, p, "{}")
		}
	})
	c := stdiotest.Dial(t, h.MCP(), nil)
	c.Send(`{"id":"w","method":"tools/call","params":{"name":"get_messages"}}`)
	<-arrived
	c.Send(`{"method":"notifications/cancelled","params":{"requestId":"other"}}`,
		`{"method":"notifications/cancelled","params":{"requestId":"w"}}`)
	select {
	case <-gone:
	case <-time.After(stdiotest.Patience):
		t.Fatal("the POST was held")
	}
	c.Send(`{"id":2,"method":"ping"}`)
	if a := c.Answer(); a.ID != float64(2) {
		t.Errorf("%+v", a)
	}
	c.Ends()
	if len(c.Pauses()) != 0 {
		t.Error("what was cancelled was tried again")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody there") }
func (broken) Read([]byte) (int, error)  { return 0, errors.New("no pipe") }

func TestABrokenPipeEndsTheRun(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		stdiotest.Reply(w, p, "{}")
	})
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Out = broken{} })
	c.Send(`{"id":1,"method":"ping"}`)
	if err := c.End(); err == nil || !strings.Contains(err.Error(), "nobody there") {
		t.Errorf("writing: %v", err)
	}
	err := (&stdio.Bridge{URL: h.MCP(), In: broken{}, Out: io.Discard}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no pipe") {
		t.Errorf("reading: %v", err)
	}
}

func TestAnInvalidURLIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"", "host/mcp", "ftp://host/mcp", "http://", "http://a b", "://"} {
		if err := (&stdio.Bridge{URL: u, In: strings.NewReader(""), Out: io.Discard}).Run(t.Context()); err == nil {
			t.Errorf("%q was taken", u)
		}
	}
}

func FuzzEveryLineIsAnsweredOrANotification(f *testing.F) {
	for _, seed := range []string{`{"id":1,"method":"ping"}`, `{"id":null,"method":"x"}`, `[]`,
		`{"params":{"_meta":5}}`, `"\ud800"`, `{"id":1e400,"method":"a"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\n") {
			return
		}
		var out strings.Builder
		b := &stdio.Bridge{URL: "http://127.0.0.1:1/mcp", In: strings.NewReader(text), Out: &out,
			HTTP:  &http.Client{Transport: refusing{}},
			Sleep: func(c context.Context, _ time.Duration) error { return c.Err() }}
		if err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n > 1 {
			t.Errorf("%q got %d answers", text, n)
		}
		if line := out.String(); line != "" && !json.Valid([]byte(line)) {
			t.Errorf("%q got %q", text, line)
		}
	})
}
