package demo_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/demo"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
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
		has(t, catalogue, "u")
		for list, least := range map[string]int{"reservations": 6, "recent": 2} {
			if n := length(t.Context(), t, catalogue, "u", "list_reservations", `{"recent":true}`, list); n < least {
				t.Errorf("there are %d %s of files, want at least %d", n, list, least)
			}
		}
	})
}

// has checks that a user has the day.
func has(t *testing.T, catalogue *op.Catalogue, user string) {
	t.Helper()
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
		if n := length(t.Context(), t, catalogue, user, c.op, c.in, c.list); n < c.least {
			t.Errorf("%s %s lists %d, want at least %d", c.op, c.in, n, c.least)
		}
	}
}

func length(ctx context.Context, t *testing.T, c *op.Catalogue, user, name, in, list string) int {
	t.Helper()
	res, err := c.Call(ctx, c.Op(name), op.Call{Caller: domaintest.Human(user), Input: op.Parse([]byte(in)), Transport: "rest"})
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

// The files in testdata are stores of earlier versions.
func TestTheStoreOfAnEarlierVersionIsReadAndWritten(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.db.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no store of an earlier version", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			end, err := time.Parse("20060102T150405Z", strings.TrimSuffix(filepath.Base(file), ".db.gz"))
			domaintest.Check(t, err)
			schema := app.Schema()
			d, err := sqlite.Open(t.Context(), unpacked(t, file), schema)
			domaintest.Check(t, err)
			db := store.New(d, schema)
			t.Cleanup(func() { domaintest.Check(t, db.Close()) })
			catalogue := app.New(db, app.Ports{Now: func() time.Time { return end }}).Catalogue()
			has(t, catalogue, "local")
			if n := length(t.Context(), t, catalogue, "local", "search", `{"q":"refund"}`, "results"); n == 0 {
				t.Error("the search finds nothing")
			}
			made, err := catalogue.Call(t.Context(), catalogue.Op("create_task"), op.Call{Caller: domaintest.Human("local"),
				Input: op.Parse([]byte(`{"title":"after the upgrade","target":"backend"}`)), Transport: "rest"})
			if err != nil {
				t.Fatalf("a task is not created: %v, %+v", err, made)
			}
			if n := length(t.Context(), t, catalogue, "local", "search", `{"q":"upgrade"}`, "results"); n != 1 {
				t.Errorf("the search finds %d new tasks", n)
			}
		})
	}
}

// unpacked returns the path of a copy of a compressed file, in a directory of the test.
func unpacked(t *testing.T, file string) string {
	t.Helper()
	packed, err := os.Open(file)
	domaintest.Check(t, err)
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	domaintest.Check(t, err)
	text, err := io.ReadAll(r)
	domaintest.Check(t, err)
	path := filepath.Join(t.TempDir(), "parley.db")
	domaintest.Check(t, os.WriteFile(path, text, 0o600))
	return path
}
