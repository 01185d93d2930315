package council

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// called returns the output of an operation for a JSON input.
func called(t *testing.T, cat *op.Catalogue, c identity.Caller, name, args string) (map[string]any, error) {
	t.Helper()
	res, err := cat.Call(t.Context(), cat.Op(name), op.Call{Caller: c, Input: op.Parse([]byte(args))})
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(res.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

func TestOperationsUseSnakeCase(t *testing.T) {
	t.Parallel()
	h := over(t, storetest.SQLite(t, schema(), store.AbortFirst()))
	cat := op.NewCatalogue(h.Operations())
	do := func(c identity.Caller, name, args string) string {
		t.Helper()
		out, err := called(t, cat, c, name, args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct{ name, args, want string }{
		{"get_current_session_data", `{"agent_name":"beta"}`,
			`{"agent_name":"beta","feedback":[],"next_cursor":"MC4wLg","state":{"counts":{"participants":0,` +
				`"pending":0,"responses":0},"participants":[],"pending_participants":[]}}`},
		{"start_council", `{"request":"why?","agent_name":"alpha"}`,
			`{"agent_name":"alpha","request_id":"id-000002","session_id":"id-000001",` +
				`"state":{"counts":{"participants":1,"pending":0,"responses":0},"participants":["alpha"],` +
				`"pending_participants":[],"request_id":"id-000002","session_id":"id-000001","status":"active"}}`},
		{"join_council", `{"agent_name":"beta"}`,
			`{"agent_name":"beta","feedback":[],"next_cursor":"MC4yLmlkLTAwMDAwMQ",` +
				`"participant":{"agent_name":"beta","last_request_seen":"id-000002",` +
				`"last_seen":"2026-03-01T12:00:00Z","verified":false},` +
				`"request":{"content":"why?","created_at":"2026-03-01T12:00:00Z","created_by":"alpha",` +
				`"id":"id-000002","status":"open","verified":false},"session_id":"id-000001",` +
				`"state":{"counts":{"participants":2,"pending":0,"responses":0},"participants":["alpha","beta"],` +
				`"pending_participants":[],"request_id":"id-000002","session_id":"id-000001",` +
				`"status":"active"}}`},
		{"send_response", `{"agent_name":"beta","content":"so"}`,
			`{"agent_name":"beta","feedback":{"author":"beta","content":"so","created_at":"2026-03-01T12:00:00Z",` +
				`"id":"1","label":"A","request_id":"id-000002","verified":false},` +
				`"state":{"counts":{"participants":2,"pending":0,"responses":1},"participants":["alpha","beta"],` +
				`"pending_participants":[],"request_id":"id-000002","session_id":"id-000001",` +
				`"status":"active"}}`},
		{"rank_responses", `{"agent_name":"alpha","ranking":["A"]}`,
			`{"agent_name":"alpha","ranking":["A"],"session_id":"id-000001","state":{"counts":{"participants":2,` +
				`"pending":0,"rankings":1,"responses":1},"participants":["alpha","beta"],"pending_participants":[],` +
				`"ranking":[{"label":"A","mean_rank":1,"votes":1}],"request_id":"id-000002",` +
				`"session_id":"id-000001","status":"active"}}`},
		{"close_council", `{"agent_name":"alpha","conclusion":"thus"}`,
			`{"agent_name":"alpha","conclusion":{"author":"alpha","content":"thus",` +
				`"created_at":"2026-03-01T12:00:00Z","verified":false},"session_id":"id-000001",` +
				`"state":{"counts":{"participants":2,"pending":0,"rankings":1,"responses":1},` +
				`"participants":["alpha","beta"],"pending_participants":[],"ranking":[{"label":"A",` +
				`"mean_rank":1,"votes":1}],"request_id":"id-000002","session_id":"id-000001",` +
				`"status":"closed"}}`},
		{"list_councils", `{"status":"closed"}`,
			`{"sessions":[{"closed_at":"2026-03-01T12:00:00Z","conclusion":{"author":"alpha","content":"thus",` +
				`"created_at":"2026-03-01T12:00:00Z","verified":false},"created_at":"2026-03-01T12:00:00Z",` +
				`"created_by":"alpha",` +
				`"current_request_id":"id-000002","id":"id-000001","participants":2,"responses":1,` +
				`"status":"closed","title":"why?","verified":false}]}`},
	} {
		if got := do(unbound, c.name, c.args); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestAReadOnlyCallerMayCallReadingOperations(t *testing.T) {
	t.Parallel()
	h := over(t, storetest.SQLite(t, schema()))
	var may []string
	for _, o := range h.Operations() {
		if o.MayCall(reader) == nil {
			may = append(may, o.Name)
		}
	}
	if !slices.Equal(may, []string{"join_council", "get_current_session_data", "list_councils"}) {
		t.Errorf("it may call %s", strings.Join(may, ", "))
	}
}

func TestCreatingOperationsTakeAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := over(t, storetest.SQLite(t, schema()))
	for _, o := range h.Operations() {
		if o.Creates != o.Idempotent {
			t.Errorf("%s creates %v, takes a key %v", o.Name, o.Creates, o.Idempotent)
		}
	}
}

func TestEveryRouteIsDescribedByTheOpenAPIDocument(t *testing.T) {
	t.Parallel()
	h := over(t, storetest.SQLite(t, schema()))
	doc, err := op.NewCatalogue(h.Operations()).OpenAPI("t", "1")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/v1/councils", "/v1/councils/current", "/v1/councils/{session_id}/responses", "/v1/councils/current/close",
	} {
		if !strings.Contains(string(doc), `"`+path+`"`) {
			t.Errorf("%s is missing", path)
		}
	}
}
