package usage_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/hook/usage"
	"parley.internal/shared/hook/wire"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRecordsOfEachClientAreReadOnce(t *testing.T) {
	t.Parallel()
	for client, c := range map[string]struct {
		text string
		want []wire.Usage
	}{
		"claude": {`{"type":"user","message":{"content":"\"usage\""}}
not json "usage"
{"type":"assistant","message":{"id":"a","model":"m1","usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":20,"output_tokens":1}}}
{"type":"assistant","message":{"id":"a","model":"m1","usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":20,"output_tokens":9}}}
{"type":"assistant","message":{"id":"b","model":"m2","usage":{"input_tokens":1,"output_tokens":2}}}
{"type":"assistant","message":{"id":"s","model":"<synthetic>","usage":{"input_tokens":1}}}
{"type":"assistant","message":{"id":"n","model":"m","usage":{"input_tokens":-1}}}
{"type":"cost-state","sessionId":"x","totalCostUSD":0.5}
`, []wire.Usage{{ID: "a", Model: "m1", TokensIn: 13, TokensOut: 9, TokensCached: 20}, {ID: "b", Model: "m2", TokensIn: 1, TokensOut: 2},
			{ID: "cost/", CostUSD: 0.5}}},
		"codex": {`{"type":"turn_context","payload":{"model":"gpt"}}
{"type":"token_usage_record","payload":{"response_id":"r1","turn_id":"t","usage":{"input_tokens":1003,"cached_input_tokens":100,"output_tokens":20}}}
{"type":"token_usage_record","payload":{"turn_id":"t","usage":{"input_tokens":1}}}
`, []wire.Usage{{ID: "r1", Model: "gpt", TokensIn: 903, TokensOut: 20, TokensCached: 100}}},
		"gemini": {`{"usage":1}` + "\n", nil},
	} {
		path := file(t, c.text)
		got, at, err := usage.Read(client, path, usage.Position{}, 50)
		for i := range got {
			if strings.HasPrefix(got[i].ID, "cost/") {
				got[i].ID = "cost/"
			}
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", client, err, got, c.want)
		}
		if again, _, err := usage.Read(client, path, at, 50); err != nil || len(again) != 0 {
			t.Errorf("%s: read again: %+v, %v", client, again, err)
		}
	}
}

func TestAReadingGoesOnWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	line := func(id string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","model":"m","usage":{"input_tokens":1}}}` + "\n"
	}
	path := file(t, line("a")+line("b")+line("c")+strings.TrimSuffix(line("d"), "\n"))
	var ids []string
	at := usage.Position{}
	for range 5 {
		got, next, err := usage.Read("claude", path, at, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range got {
			ids = append(ids, u.ID)
		}
		at = next
	}
	if strings.Join(ids, "") != "abc" {
		t.Errorf("got %v; a line without an end is left for later", ids)
	}
	if err := os.WriteFile(path, []byte(line("new")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := usage.Read("claude", path, at, 2); err != nil || len(got) != 1 || got[0].ID != "new" {
		t.Errorf("a record that was begun anew: %+v, %v", got, err)
	}
	if _, _, err := usage.Read("claude", filepath.Dir(path), usage.Position{}, 2); err == nil {
		t.Error("a directory is read")
	}
	if got, _, err := usage.Read("claude", "", usage.Position{}, 2); err != nil || got != nil {
		t.Errorf("no record: %v, %v", got, err)
	}
}
