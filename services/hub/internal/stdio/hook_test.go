package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"parley.internal/services/hub/internal/stdio"
	"parley.internal/services/hub/internal/stdio/stdiotest"
)

// hook changes the results of a tool by a function.
type hook struct {
	tool   string
	result func(context.Context, *stdio.Call, json.RawMessage) (json.RawMessage, error)
}

func (h hook) Wants(tool string) bool { return tool == h.tool }

func (h hook) Result(ctx context.Context, c *stdio.Call, content json.RawMessage) (json.RawMessage, error) {
	return h.result(ctx, c, content)
}

func TestAHookChangesOnlyTheResultsOfItsTool(t *testing.T) {
	t.Parallel()
	const result = `{"content":[{"type":"text","text":"{\"a\": 1}"},{"type":"text","text":"note"}],` +
		`"structuredContent":{"a":1},"x":"<&>"}`
	change := func(_ context.Context, c *stdio.Call, content json.RawMessage) (json.RawMessage, error) {
		if c.Tool() != "look" || string(c.Arguments()) != `{"at":"<b>"}` || string(content) != `{"a":1}` {
			t.Errorf("it got %s of %s with %s", content, c.Tool(), c.Arguments())
		}
		return json.RawMessage(`{"a":2}`), nil
	}
	for name, c := range map[string]struct {
		tool, result, want, report string
		hook                       func(context.Context, *stdio.Call, json.RawMessage) (json.RawMessage, error)
	}{
		"a result is changed, and the text that repeats it": {"look", result,
			`{"content":[{"text":"{\"a\":2}","type":"text"},{"text":"note","type":"text"}],` +
				`"structuredContent":{"a":2},"x":"<&>"}`, "", change},
		"a result that the hook leaves stays": {"look", result, result, "",
			func(context.Context, *stdio.Call, json.RawMessage) (json.RawMessage, error) { return nil, nil }},
		"a result that the hook fails for stays": {"look", result, result, "passed on unchanged: no disk",
			func(context.Context, *stdio.Call, json.RawMessage) (json.RawMessage, error) {
				return nil, errors.New("no disk")
			}},
		"a result of another tool stays": {"list", result, result, "", nil},
		"an error stays": {"look", `{"isError":true,"structuredContent":{"a":1}}`,
			`{"isError":true,"structuredContent":{"a":1}}`, "", nil},
		"a result without structure stays": {"look", `{"content":[]}`, `{"content":[]}`, "", nil},
		"a result whose content is no list stays": {"look", `{"content":5,"structuredContent":{"a":1}}`,
			`{"content":5,"structuredContent":{"a":1}}`, "passed on unchanged: its content cannot be read", change},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
				stdiotest.Reply(w, p, c.result)
			})
			bridge := stdiotest.Dial(t, h.MCP(),
				func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = hook{"look", c.hook} })
			bridge.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + c.tool +
				`","arguments":{"at":"<b>"}}}`)
			var got struct{ Result json.RawMessage }
			if err := json.Unmarshal([]byte(bridge.Next()), &got); err != nil || string(got.Result) != c.want {
				t.Errorf("got %s, %v\nwant %s", got.Result, err, c.want)
			}
			bridge.Ends()
			if stdiotest.Contains(t, bridge.Reports(), c.report); c.report == "" && bridge.Reports() != "" {
				t.Errorf("the bridge said %q", bridge.Reports())
			}
		})
	}
}

func TestAHooksCallUsesTheClientsKeyAndIsHiddenFromIt(t *testing.T) {
	t.Parallel()
	h := stdiotest.Serve(t, func(n int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case 2:
			stdiotest.Reply(w, p, `{"structuredContent":{"more":true}}`)
		case 3:
			stdiotest.Reply(w, p, `{"isError":true,"content":[{"type":"text","text":"no more"}]}`)
		default:
			stdiotest.Reply(w, p, `{"content":[],"structuredContent":{}}`)
		}
	})
	follow := func(ctx context.Context, c *stdio.Call, _ json.RawMessage) (json.RawMessage, error) {
		args := map[string]any{"text": "<&>"}
		content, err := c.Follow(ctx, "next", args)
		if err != nil || string(content) != `{"more":true}` {
			t.Errorf("got %s, %v", content, err)
		}
		if size := c.Size("next", args); size != len(h.Posts()[1].Body) {
			t.Errorf("the size of %q is %d", h.Posts()[1].Body, size)
		}
		if _, err = c.Follow(ctx, "next", args); err == nil || err.Error() != "next: no more" {
			t.Errorf("got %v", err)
		}
		return nil, nil
	}
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = hook{"look", follow} })
	c.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`)
	if a := c.Answer(); a.ID != float64(1) {
		t.Errorf("the answer has the id %v", a.ID)
	}
	c.Ends()
	for _, p := range h.Posts() {
		if p.Header.Get("Authorization") != "Bearer "+stdiotest.Secret {
			t.Errorf("%s came without the client's key", p.Body)
		}
	}
}
