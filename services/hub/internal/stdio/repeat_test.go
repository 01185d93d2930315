package stdio

import (
	"encoding/json"
	"testing"
)

func TestOnlyRequestsThatAreSafeToRepeatAreRepeatable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, params string
		want           bool
	}{
		"a list of tools":        {"tools/list", `{}`, true},
		"a read":                 {"tools/call", `{"name":"get_tasks"}`, true},
		"mail that is marked":    {"tools/call", `{"name":"get_messages"}`, false},
		"mail that is peeked at": {"tools/call", `{"name":"get_messages","arguments":{"markAsRead":false}}`, true},
		"a write":                {"tools/call", `{"name":"create_task","arguments":{}}`, false},
		"a write that has a key": {"tools/call", `{"name":"create_task","arguments":{"idempotencyKey":"k"}}`, true},
		"what nobody knows":      {"made/up", `{}`, false},
	} {
		q := &request{id: json.RawMessage("1"), method: c.method, params: json.RawMessage(c.params)}
		if got := q.repeatable(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
