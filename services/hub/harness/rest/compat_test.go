package rest_test

import (
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestEveryCompatibilityRouteHasATest(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	tested := []string{
		"GET /v1/interrupts/peek", "GET /v1/dreams/peek", "POST /v1/dreams/activate", "PATCH /v1/sessions",
		"GET /v1/councils/current", "POST /v1/councils/current/join", "POST /v1/councils/current/responses",
		"POST /v1/councils/current/ranking", "POST /v1/councils/current/close", "GET /v1/messages",
		"GET /v1/teams/{team_name}/inboxes/{agent_name}", "GET /v1/teams/{team_name}/inboxes/{agent_name}/poll",
	}
	for _, o := range hub.Catalogue.Ops() {
		for _, r := range o.Compat {
			if !slices.Contains(tested, r.Route) {
				t.Errorf("%s of %s has no test", r.Route, o.Name)
			}
		}
	}
}

func TestPeekingAtInterruptsMarksNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		key := hub.Agent("u", "alpha")
		for _, text := range []string{"one", "two"} {
			in := args{"message": text, "source": "alpha", "target": "alpha", "message_type": "DIRECTIVE"}
			if a := hub.REST(key, "POST", "/v1/messages", in); a.Status != 201 {
				t.Fatal(a)
			}
		}
		for range 3 {
			for _, path := range []string{"/v1/interrupts/peek", "/v1/interrupts/peek?target=alpha",
				"/v1/interrupts/peek?markAsRead=false"} {
				var got struct {
					Messages []struct {
						Status     string
						Deliveries int
					}
				}
				a := hub.REST(key, "GET", path, nil)
				if err := a.Into(&got); err != nil || a.Status != 200 || len(got.Messages) != 2 ||
					got.Messages[0].Status != "pending" || got.Messages[0].Deliveries != 0 {
					t.Errorf("%s: got %s, %v; want both messages, unmarked", path, a, err)
				}
			}
		}
		a := hub.REST(key, "GET", "/v1/interrupts/peek?limit=1", nil)
		if strings.Count(string(a.Body), `"deliveries"`) != 1 {
			t.Errorf("got %s, want the limit to apply", a)
		}
		if a := hub.REST(key, "GET", "/v1/messages", nil); strings.Count(string(a.Body), `"status":"delivered"`) != 2 {
			t.Errorf("got %s, want both messages delivered for the first time", a)
		}
	})
}

// The routes without an id act on the council that the agent takes part in.
func TestTheCurrentCouncilIsThatOfTheCaller(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		alpha, beta := hub.Agent("u", "alpha"), hub.Agent("u", "beta")
		var mine, other struct {
			ID string `json:"session_id"`
		}
		if err := hub.REST(beta, "POST", "/v1/councils",
			args{"agent_name": "beta", "request": "another"}).Into(&other); err != nil {
			t.Fatal(err)
		}
		if err := hub.REST(alpha, "POST", "/v1/councils",
			args{"agent_name": "alpha", "request": "which?"}).Into(&mine); err != nil {
			t.Fatal(err)
		}
		if a := hub.REST(beta, "POST", "/v1/councils/"+mine.ID+"/join", args{"agent_name": "beta"}); a.Status != 200 {
			t.Fatal(a)
		}
		for _, c := range []struct {
			key, method, path string
			in                any
			status            int
		}{
			{beta, "POST", "/v1/councils/current/responses", args{"agent_name": "beta", "content": "this"}, 201},
			{alpha, "POST", "/v1/councils/current/join", args{"agent_name": "alpha"}, 200},
			{alpha, "GET", "/v1/councils/current?agent_name=alpha", nil, 200},
			{alpha, "POST", "/v1/councils/current/ranking", args{"agent_name": "alpha", "ranking": []string{"A"}}, 200},
			{alpha, "POST", "/v1/councils/current/close", args{"agent_name": "alpha", "conclusion": "so"}, 200},
		} {
			if a := hub.REST(c.key, c.method, c.path, c.in); a.Status != c.status ||
				!strings.Contains(string(a.Body), mine.ID) || strings.Contains(string(a.Body), other.ID) {
				t.Errorf("%s %s: got %s, want the council %s", c.method, c.path, a, mine.ID)
			}
		}
	})
}

func TestCompatibilityRoutesOfDreams(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		key := hub.Agent("u", "alpha")
		var dream struct{ TaskID string }
		hubtest.Must(t, hub.REST(key, "POST", "/v1/tasks",
			args{"title": "t", "target": "alpha", "type": "dream"}).Into(&dream))
		var peeked struct{ Dreams []struct{ ID string } }
		a := hub.REST(key, "GET", "/v1/dreams/peek?target=alpha&limit=1", nil)
		if err := a.Into(&peeked); err != nil || a.Status != 200 || len(peeked.Dreams) != 1 ||
			peeked.Dreams[0].ID != dream.TaskID {
			t.Errorf("a peek: got %s, %v; want the dream", a, err)
		}
		if a := hub.REST(key, "POST", "/v1/dreams/activate", args{}); a.Status != 400 ||
			!strings.Contains(a.Fault().Message, "dreamId: is required") {
			t.Errorf("without an id: got %s, want 400 for the field", a)
		}
		var begun struct {
			ID, Status    string
			ClaimToken    int
			AlreadyActive bool
		}
		a = hub.REST(key, "POST", "/v1/dreams/activate", args{"dreamId": dream.TaskID, "sessionId": "s"})
		if err := a.Into(&begun); err != nil || a.Status != 200 || begun.ID != dream.TaskID ||
			begun.Status != "active" || begun.ClaimToken != 1 || begun.AlreadyActive {
			t.Errorf("activate: got %s, %v; want the active dream", a, err)
		}
		if err := hub.REST(key, "POST", "/v1/dreams/"+dream.TaskID+"/activate",
			args{"sessionId": "s"}).Into(&begun); err != nil || !begun.AlreadyActive {
			t.Errorf("activate by its own route: got %+v, %v; want the same claim", begun, err)
		}
		if a := hub.REST(key, "POST", "/v1/dreams/activate",
			args{"dreamId": dream.TaskID, "sessionId": "another"}); a.Status != 409 ||
			a.Fault().Code != "FAILED_PRECONDITION" {
			t.Errorf("activate again: got %s, want 409", a)
		}
		if a := hub.REST(key, "GET", "/v1/dreams/peek", nil); !strings.Contains(string(a.Body), `"dreams":[]`) {
			t.Errorf("a peek after the activation: got %s, want none", a)
		}
	})
}

func TestCompatibilityRoutesOfSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		key, human := hub.Agent("u", "alpha"), hub.Human("u")
		if a := hub.REST(key, "PATCH", "/v1/sessions", args{"progress": 1}); a.Status != 404 ||
			!strings.Contains(a.Fault().Message, "create_session") {
			t.Errorf("without a session: got %s, want 404 and the operation that creates one", a)
		}
		for _, id := range []string{"first", "second"} {
			if a := hub.REST(key, "POST", "/v1/sessions", args{"name": "n", "sessionId": id}); a.Status != 201 {
				t.Fatal(a)
			}
		}
		var got struct {
			SessionID, State string
			Progress         int
		}
		// Without an id the newest session is updated; with one in the body, that session.
		for id, in := range map[string]args{"second": {"progress": 7},
			"first": {"sessionId": "first", "progress": 7, "state": "blocked"}} {
			a := hub.REST(key, "PATCH", "/v1/sessions", in)
			if err := a.Into(&got); err != nil || a.Status != 200 || got.SessionID != id || got.Progress != 7 {
				t.Errorf("%v: got %s, %v; want the session %s", in, a, err, id)
			}
		}
		if err := hub.REST(key, "PATCH", "/v1/sessions/first", args{"lastHeartbeat": true}).Into(&got); err != nil ||
			got.State != "blocked" || got.Progress != 7 {
			t.Errorf("a heartbeat by its own route: got %+v, %v; want the state and the progress of before", got, err)
		}
		if a := hub.REST(human, "PATCH", "/v1/sessions", args{"progress": 1}); a.Status != 404 ||
			!strings.Contains(a.Fault().Message, "sessionId is required") {
			t.Errorf("by a key of no program: got %s, want 404 that asks for the sessionId", a)
		}
	})
}
