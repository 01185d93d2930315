package mcp

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// Every body is a message or is answered with an error of JSON-RPC, at a cost in proportion to its length; and the
// message that mcp-go reads is written from the front's own reading of it.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1]}}}`,
		`{"jsonrpc":"2.0","id":"1","method":"tools/list"}`, `{"method":"notifications/cancelled","params":{"requestId":1}}`,
		`[]`, `{`, ``, `{"id":{},"method":1}`, `{"id":1,"id":2}`, `{"params":[],"method":"x","id":0}`, `{"m\u0065thod":"x","id":1.50}`,
		`{"id":1,"method":"tools/call","params":{"arguments":null}}`, "{\"id\":\"\xff\",\"method\":\"a\"}",
		`{"id":1,"method":"tools/call","params":{"name":"\ud800"}}`, `{"id":1,"method":"x","params":` + strings.Repeat("[", 80) +
			strings.Repeat("]", 80) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, malformed := readMessage(body)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20+20*uint64(len(body)) {
			t.Errorf("%d bytes take %d MiB: %.300q", len(body), used>>20, body)
		}
		if malformed != nil {
			if text, err := malformed.response(m.id); err != nil || !json.Valid(text) {
				t.Errorf("%q is answered %q, %v", body, text, err)
			}
			return
		}
		text, err := m.encode(true)
		if err != nil || !json.Valid(text) {
			t.Fatalf("%q is encoded as %q, %v", body, text, err)
		}
		again, malformed := readMessage(text)
		if malformed != nil || again.method != m.method {
			t.Errorf("%q is encoded as %q, which reads as %q, %v", body, text, again.method, malformed)
		}
	})
}

func TestAMessageIsBoundedBesideItsArguments(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat("1,", 2000) + "1]"
	fields := strings.Repeat(`"a":1,`, 64)
	for body, want := range map[string]string{
		`{"id":1,"method":"x","params":{"a":` + many + `}}`:                      "params.a must have at most 2000 values",
		`{"id":1,"method":"x","params":` + many + `}`:                            "params must have at most 2000 values",
		`{"id":1,"method":"x","a":` + many + `}`:                                 "a must have at most 2000 values",
		`{"id":1,"method":"x","params":{` + fields + `"b":1}}`:                   "params must have at most 64 fields",
		`{"id":1,` + fields + `"method":"x"}`:                                    "the message must have at most 64 fields",
		`{"id":1,"method":"prompts/get","params":{"arguments":` + many + `}}`:    "params.arguments must have at most 2000",
		`{"id":1,"method":"tools/call","params":{"_meta":{"a":` + many + `}}}`:   "params._meta must have at most 2000",
		`{"params":{"arguments":` + many + `},"method":"tools/call","id":1}`:     "",
		`{"id":1,"method":"tools/call","params":{"name":"a","arguments":[1,2]}}`: "",
	} {
		_, e := readMessage([]byte(body))
		if (e == nil) != (want == "") || e != nil && !strings.Contains(e.Message, want) {
			t.Errorf("%.60s: got %v, want %q", body, e, want)
		}
	}
}
