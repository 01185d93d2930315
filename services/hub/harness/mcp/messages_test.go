package mcp_test

import (
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
)

// Clients match an answer by its id, and mcp-go would read a number as float64.
func TestAnAnswerHasTheIDByteForByte(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for _, id := range []string{
		`9007199254740993`, `-9007199254740993`, `123456789012345678901234567890`, `1.50`, `1e3`, `0`, `""`, `"a"`,
		`"9007199254740993"`, `"\u0061<>&\/ é` + "\u2028" + `"`, `"\"id\":1"`,
	} {
		for name, rest := range map[string]string{
			"a result":          `"method":"tools/list"}`,
			"a tool":            `"method":"tools/call","params":{"name":"get_tasks"}}`,
			"a fault":           `"method":"tools/call","params":{"name":"get_task","arguments":{"taskId":"none"}}}`,
			"an unknown tool":   `"method":"tools/call","params":{"name":"none"}}`,
			"no name":           `"method":"tools/call"}`,
			"a subscription":    `"method":"subscriptions/listen"}`,
			"an unknown method": `"method":"none"}`,
		} {
			a := hub.MCP(key, "/mcp", `{"jsonrpc":"2.0", "id" : `+id+` ,`+rest)
			if !strings.HasPrefix(string(a.Body), `{"jsonrpc":"2.0","id":`+id+`,"`) {
				t.Errorf("%s, %s: got %.200s", id, name, a.Body)
			}
		}
	}
}

func TestAMessageThatIsNoneSaysWhatItMustBe(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	const object, parse, request = "the message must be one JSON object", -32700, -32600
	for name, c := range map[string]struct {
		body string
		code int
		want string
		id   string
	}{
		"a batch":         {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, request, object, "null"},
		"an empty batch":  {`[]`, request, object, "null"},
		"a number":        {`7`, request, object, "null"},
		"nothing":         {``, parse, "the message is not valid JSON", "null"},
		"half an object":  {`{"jsonrpc":"2.0","id":1,`, parse, "the message is not valid JSON", "1"},
		"a comma at last": {`{"jsonrpc":"2.0","id":1,"method":"ping",}`, parse, "the message is not valid JSON", "1"},
		"two messages": {`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, parse, "the message is not valid JSON",
			"1"},
		"deep arguments": {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_tasks","arguments":` +
			nested(20_000) + `}}`, parse, "the message must nest at most 10000 levels deep", "7"},
		"an id that is an object": {`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, request,
			"id must be a string or a number", "null"},
		"an id that is a list": {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, request,
			"id must be a string or a number", "null"},
		"an id that is true": {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, request,
			"id must be a string or a number", "null"},
		"an id that is null": {`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"get_tasks"}}`, request,
			"id must be a string or a number", "null"},
		"a method that is no string": {`{"jsonrpc":"2.0","id":1,"method":5}`, request, "method must be a string", "1"},
		"an id that is no text": {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"tools/call\"}", parse,
			"the message must be valid UTF-8 text", "null"},
	} {
		a := hub.MCP(key, "/mcp", c.body)
		if a.Status != 400 || a.Err == nil || a.Err.Code != c.code || a.Err.Message != c.want ||
			!strings.HasPrefix(string(a.Body), `{"jsonrpc":"2.0","id":`+c.id+`,`) {
			t.Errorf("%s: got %s, want %d with %q and the id %s", name, a.Answer, c.code, c.want, c.id)
		}
	}
}

func TestACallThatNamesNoKnownToolSaysSoOnce(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for name, c := range map[string]struct {
		params args
		want   string
	}{
		"no name":                  {args{}, "params.name is required"},
		"an empty name":            {args{"name": ""}, "params.name is required"},
		"a name that is no string": {args{"name": 5}, "params.name must be a string"},
		"an unknown tool": {args{"name": "no_such_tool"},
			`this URL serves no tool "no_such_tool": tools/list has the names of those that it serves`},
		"a tool of another URL": {args{"name": "create_key"},
			`this URL serves no tool "create_key": tools/list has the names of those that it serves`},
	} {
		legacy := hub.MCP(key, "/mcp", hubtest.Message(1, "tools/call", c.params))
		modern := hub.Modern(key, "/mcp", "tools/call", c.params)
		if legacy.Status != 200 || modern.Status != 400 {
			t.Errorf("%s: got the statuses %d and %d", name, legacy.Status, modern.Status)
		}
		for _, a := range []hubtest.RPCAnswer{legacy, modern} {
			if a.Err == nil || a.Err.Code != -32602 || a.Err.Message != c.want || a.Result != nil {
				t.Errorf("%s: got %s, want %q", name, a.Answer, c.want)
			}
		}
	}
}
