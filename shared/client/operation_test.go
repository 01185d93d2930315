package client

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/council"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/relay"
	"parley.internal/shared/team"
)

func TestInputsGoWhereTheRouteHasThem(t *testing.T) {
	t.Parallel()
	yes, no, zero := true, false, 0
	s := newServer(t, says(200, `{"success":true,"data":{},"meta":{}}`))
	c, _ := newClient(t, s.URL+"/of/parley/mcp")
	for _, k := range []struct {
		name string
		in   any
		want string
	}{
		{"get_tasks", dispatch.ListInput{Target: "a&b c", Limit: 5, IncludeInstructions: &no},
			"GET /v1/tasks?includeInstructions=false&limit=5&target=a%26b+c"},
		{"get_tasks", dispatch.ListInput{}, "GET /v1/tasks"},
		{"get_tasks", nil, "GET /v1/tasks"},
		{"get_tasks", map[string]any{"limit": 5, "cursor": nil}, "GET /v1/tasks?limit=5"},
		{"get_task", dispatch.TaskInput{TaskID: "a/b c"}, "GET /v1/tasks/a%2Fb%20c"},
		{"claim_task", dispatch.ClaimInput{TaskID: "a", SessionID: "<s>"},
			`POST /v1/tasks/a/claim {"sessionId":"\u003cs\u003e"}`},
		{"claim_task", map[string]any{"taskId": "a", "leaseSeconds": 30},
			`POST /v1/tasks/a/claim {"leaseSeconds":30}`},
		{"renew_claim", dispatch.RenewInput{TaskID: "a", ClaimToken: 1 << 52},
			`POST /v1/tasks/a/renew {"claimToken":4503599627370496}`},
		{"team_delete", team.NameInput{TeamName: "core"}, "DELETE /v1/teams/core"},
		{"team_force_kill_teammate", team.MemberInput{TeamName: "core", AgentName: "w-1"},
			"DELETE /v1/teams/core/members/w-1"},
		{"team_poll_inbox", team.PollInput{TeamName: "core", AgentName: "w", TimeoutMs: &zero},
			`POST /v1/teams/core/inboxes/w/poll {"timeout_ms":0}`},
		{"team_read_inbox", team.ReadInput{TeamName: "core", AgentName: "w", MarkAsRead: &yes},
			`POST /v1/teams/core/inboxes/w/read {"mark_as_read":true}`},
		{"set_group", relay.SetGroupInput{Name: "g"}, `PUT /v1/groups/g {"members":[]}`},
		{"close_council", council.CloseInput{SessionID: "c", AgentName: "a", Conclusion: "so"},
			`POST /v1/councils/c/close {"agent_name":"a","conclusion":"so"}`},
		{"close_council", council.CloseInput{AgentName: "a", Conclusion: "so"},
			`POST /v1/councils/current/close {"agent_name":"a","conclusion":"so"}`},
	} {
		if err := c.Do(t.Context(), k.name, k.in, nil); err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		all := s.requests()
		want := strings.Replace(k.want, "/v1", "/of/parley/v1", 1)
		if got := all[len(all)-1].line; got != want {
			t.Errorf("%s: asked\n%s, want\n%s", k.name, got, want)
		}
	}
}

// A list of one member would be a text in a query, and one that begins with a bracket a list.
func TestAListInAQueryStaysAList(t *testing.T) {
	t.Parallel()
	o := Operation{Name: "sample", Routes: []string{"GET /v1/samples"}}
	m, err := o.message(struct {
		IDs   []string `json:"ids"`
		Empty []string `json:"empty,omitempty"`
	}{IDs: []string{`[x`}}, nil)
	if err != nil || m.path != `/v1/samples?ids=%5B%22%5Bx%22%5D` {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestWhatCannotBeSentIsRefusedWithoutARequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, succeeds)
	c, _ := newClient(t, s.URL)
	for name, err := range map[string]error{
		"an empty id":          c.Do(t.Context(), "claim_task", dispatch.ClaimInput{}, nil),
		"no id":                c.Do(t.Context(), "claim_task", nil, nil),
		"no such operation":    c.Do(t.Context(), "claim_tusk", nil, nil),
		"no JSON":              c.Do(t.Context(), "get_tasks", func() {}, nil),
		"an input of no names": c.Do(t.Context(), "get_tasks", 7, nil),
	} {
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v, want Invalid", name, err)
		}
	}
	err := c.Do(t.Context(), "team_force_kill_teammate", team.MemberInput{}, nil)
	if f := fault.From(err); len(f.Problems) != 2 || f.Problems[0].Path != "team_name" ||
		f.Problems[1].Path != "agent_name" {
		t.Errorf("got %+v, want both fields named", f.Problems)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestARequestMayTakeAsLongAsItAsksTheServerToWait(t *testing.T) {
	t.Parallel()
	half := 500
	for _, k := range []struct {
		name string
		in   any
		want time.Duration
	}{
		{"get_tasks", dispatch.ListInput{WaitMs: 55_000}, 55 * time.Second},
		{"get_tasks", dispatch.ListInput{}, 0},
		{"get_tasks", map[string]any{"waitMs": "250"}, 250 * time.Millisecond},
		{"get_tasks", map[string]any{"waitMs": -1}, 0},
		{"get_current_session_data", council.GetInput{SessionID: "c", WaitMs: 1000}, time.Second},
		{"team_poll_inbox", team.PollInput{TeamName: "t", AgentName: "a"}, 30 * time.Second},
		{"team_poll_inbox", team.PollInput{TeamName: "t", AgentName: "a", TimeoutMs: &half}, 500 * time.Millisecond},
		{"create_task", map[string]any{"waitMs": 55_000}, 0},
	} {
		o, ok := Lookup(k.name)
		m, err := o.message(k.in, func() string { return "k" })
		if !ok || err != nil || m.wait != k.want {
			t.Errorf("%s %+v: got %v, %v; want %v", k.name, k.in, m, err, k.want)
		}
	}
}

func TestEveryOperationOfTheTableHasItsMethod(t *testing.T) {
	t.Parallel()
	c := reflect.TypeFor[*Client]()
	for name, o := range operations {
		method := ""
		for part := range strings.SplitSeq(name, "_") {
			method += strings.ToUpper(part[:1]) + part[1:]
		}
		if _, ok := c.MethodByName(method); !ok || o.Name != name || len(o.Routes) == 0 ||
			op.Path(o.Routes[0]) == "" {
			t.Errorf("%s: %+v, method %v", name, o, ok)
		}
	}
	if _, ok := Lookup("claim_tusk"); ok {
		t.Error("an operation of no such name was found")
	}
}

// net/http repeats a GET by itself when a kept connection breaks; a read that marks its results as read must not be
// repeated.
func TestAReadThatMarksIsNotRepeatedByTheTransport(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name string
		want int // requests after the first, which makes the connection
		// method is one that the transport does not repeat by itself, where the read marks messages as read.
		method string
	}{{"get_messages", 1, http.MethodPost}, {"list_groups", 2, http.MethodGet}} {
		s := newServer(
			t,
			says(200, `{"success":true,"data":{},"meta":{}}`),
			drops,
			says(200, `{"success":true,"data":{},"meta":{}}`),
		)
		c, _ := newClient(t, s.URL, WithRetry(NoRetry))
		if err := c.Do(t.Context(), k.name, nil, nil); err != nil {
			t.Fatal(err)
		}
		err := c.Do(t.Context(), k.name, nil, nil)
		if got := len(s.requests()) - 1; got != k.want || (err != nil) != (k.want == 1) {
			t.Errorf("%s: %d requests, %v; want %d", k.name, got, err, k.want)
		}
		for _, r := range s.requests() {
			if r.header.Get("Transfer-Encoding") != "" || !strings.HasPrefix(r.line, k.method) {
				t.Errorf("%s: asked %+v", k.name, r)
			}
		}
	}
}
