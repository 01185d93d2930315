package app

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/search"
)

// do makes a call of an operation with an input as text, and returns the output.
func (o *fixture) do(who identity.Caller, name, in string) map[string]any {
	o.t.Helper()
	res, err := o.Catalogue().Call(o.t.Context(), o.Catalogue().Op(name), op.Call{Caller: who, Input: op.Parse([]byte(in))})
	domaintest.Check(o.t, err)
	var out map[string]any
	domaintest.Check(o.t, json.Unmarshal(res.Data, &out))
	o.Pass(time.Second)
	return out
}

// finds returns the kinds and titles of a caller's results.
func (o *fixture) finds(who identity.Caller, query string) string {
	o.t.Helper()
	in, err := json.Marshal(search.Input{Q: query, Limit: 50})
	domaintest.Check(o.t, err)
	var found []string
	results, _ := o.do(who, "search", string(in))["results"].([]any)
	for _, r := range results {
		r := r.(map[string]any)
		found = append(found, r["kind"].(string)+" "+r["title"].(string))
	}
	return strings.Join(found, "; ")
}

func TestACallerFindsOnlyWhatItMayRead(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		gamma, loose, human := domaintest.Bound("u", "gamma"), domaintest.Unbound("u"), domaintest.Human("u")
		loose.Reserved = []string{"alpha", "beta"}
		drift := loose
		drift.KeyID = "another-key"
		o.do(alpha, "create_task", `{"title":"to beta","target":"beta","instructions":"the needle"}`)
		o.do(alpha, "create_task", `{"title":"to gamma or beta","target":"gamma","fallback":["beta"],"instructions":"needle"}`)
		o.do(alpha, "create_task", `{"title":"to any","target":"any","instructions":"needle"}`)
		o.do(loose, "create_task", `{"title":"of nobody","target":"gamma","instructions":"needle"}`)
		o.do(alpha, "ask_question", `{"question":"a needle?"}`)
		o.do(alpha, "send_message", `{"message":"needle","target":"beta","message_type":"STATUS"}`)
		o.do(loose, "send_message", `{"source":"x","message":"needle","target":"omega","message_type":"STATUS"}`)
		const tasks = "task to any; task to gamma or beta; task to beta"
		const theirs, loosely = "message STATUS from alpha to beta; ", "message STATUS from x to omega; "
		for _, c := range []struct {
			who  identity.Caller
			want string
		}{
			{alpha, theirs + "question a needle?; " + tasks},
			{beta, theirs + tasks},
			{gamma, "task of nobody; task to any; task to gamma or beta"},
			{loose, loosely + "task of nobody; task to any"},
			{drift, loosely + "task to any"},
			{human, loosely + theirs + "question a needle?; task of nobody; " + tasks},
			{domaintest.Human("v"), ""},
			{domaintest.Bound("v", "alpha"), ""},
		} {
			if got := o.finds(c.who, "needle"); got != c.want {
				t.Errorf("%s finds %q, want %q", c.who, got, c.want)
			}
		}
		narrow := alpha
		narrow.Scopes = []string{"read", "search", "relay"}
		if got := o.finds(narrow, "needle"); got != strings.TrimSuffix(theirs, "; ") {
			t.Errorf("a key that reaches no tasks finds %q", got)
		}
	})
}

func TestASearchFindsWhatWasSaidInDebates(t *testing.T) {
	eachStore(t, func(t *testing.T, o *fixture) {
		c := o.do(alpha, "start_council", `{"request":"Which needle do we take?"}`)["session_id"].(string)
		in := func(more string) string { return `{"session_id":"` + c + `",` + more + `}` }
		o.do(beta, "join_council", `{"session_id":"`+c+`"}`)
		o.do(beta, "send_response", in(`"content":"The thin needle."`))
		o.do(alpha, "close_council", in(`"conclusion":"The thin needle it is."`))
		o.do(alpha, "campfire_get_or_create_fire", `{"fireId":"f"}`)
		o.do(alpha, "campfire_post_message", `{"fireId":"f","text":"A needle in the hay."}`)
		o.do(beta, "campfire_update_battle_plan", `{"fireId":"f","content":"1. Find the needle."}`)
		v := o.do(alpha, "elenchus_start_session",
			`{"target":"the needle","requirements":"It is sharp.","workingDir":"/w"}`)["sessionId"].(string)
		o.do(beta, "elenchus_submit_round", `{"sessionId":"`+v+`","role":"verifier","output":"blunt","issuesRaised":[{"id":"COR-1",
			"severity":"LOW","summary":"it is blunt","description":"the needle bends"}]}`)
		want := "verification it is blunt; verification the needle; fire Plan 1 of beta; fire Message of alpha; " +
			"council Conclusion of alpha; council Response A of beta; council Which needle do we take?"
		for _, who := range []identity.Caller{domaintest.Bound("u", "gamma"), domaintest.Human("u"), domaintest.Unbound("u")} {
			if got := o.finds(who, "needle"); got != want {
				t.Errorf("%s finds\n%s, want\n%s", who, got, want)
			}
		}
	})
}
