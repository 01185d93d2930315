package demo_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"parley.internal/services/hub/harness/demo"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// A day that a change of an operation breaks is noticed here, on both stores.
func TestTheDayLeavesSomethingForEveryView(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		end := time.Now()
		keys, err := demo.Play(t.Context(), db, "u", end)
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) != len(demo.Programs) {
			t.Errorf("there are keys of %d agents", len(keys))
		}
		catalogue := app.New(db, app.Ports{}).Catalogue()
		for _, c := range []struct {
			op, in, list string
			least        int
		}{
			{"list_questions", `{"status":"pending"}`, "questions", 3},
			{"list_sessions", `{}`, "sessions", 7},
			{"get_tasks", `{"type":"alert","status":"created"}`, "tasks", 3},
			{"get_tasks", `{"type":"task","status":"failed"}`, "tasks", 1},
			{"get_tasks", `{"type":"task","status":"blocked"}`, "tasks", 1},
			{"get_tasks", `{"type":"task","status":"created","limit":50}`, "tasks", 5},
			{"get_messages", `{"target":"backend","includeDelivered":true}`, "messages", 3},
			{"list_sprints", `{}`, "sprints", 1},
			{"list_councils", `{}`, "sessions", 1},
			{"elenchus_list_sessions", `{}`, "sessions", 1},
			{"campfire_list_messages", `{"fireId":"payments"}`, "messages", 2},
			{"list_keys", `{}`, "keys", 6},
			{"get_usage", `{"groupBy":"program"}`, "groups", 6},
		} {
			if n := length(t.Context(), t, catalogue, c.op, c.in, c.list); n < c.least {
				t.Errorf("%s %s lists %d, want at least %d", c.op, c.in, n, c.least)
			}
		}
	})
}

func length(ctx context.Context, t *testing.T, c *op.Catalogue, name, in, list string) int {
	t.Helper()
	res, err := c.Call(ctx, c.Op(name), op.Call{Caller: domaintest.Human("u"), Input: op.Parse([]byte(in)), Transport: "rest"})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	var fields map[string]json.RawMessage
	domaintest.Check(t, json.Unmarshal(res.Data, &fields))
	var all []json.RawMessage
	domaintest.Check(t, json.Unmarshal(fields[list], &all))
	return len(all)
}
