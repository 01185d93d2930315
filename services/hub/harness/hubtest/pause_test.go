package hubtest_test

import (
	"fmt"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestThePausedNeitherClaimNorSend(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		for i, c := range []struct {
			scope, name string
			halts       bool
		}{
			{"everything", "", true}, {"program", "beta", true}, {"agent", "beta/1", true}, {"project", "parley", true},
			{"program", "gamma", false}, {"agent", "beta/2", false}, {"project", "other", false}, {"team", "crew", false},
		} {
			for _, overMCP := range []bool{false, true} {
				user := fmt.Sprintf("u-%d-%v", i, overMCP)
				person := member{t, hub, hub.Human(user), "", overMCP}
				alpha := member{t, hub, hub.Agent(user, "alpha"), "", overMCP}
				beta := member{t, hub, hub.Agent(user, "beta"), "beta/1", overMCP}
				held := alpha.must("create_task", map[string]any{"title": "held", "target": "beta", "projectId": "parley"})["taskId"]
				free := alpha.must("create_task", map[string]any{"title": "free", "target": "beta", "projectId": "parley"})["taskId"]
				beta.must("claim_task", map[string]any{"taskId": held})
				order := map[string]any{"scope": c.scope, "words": "the plan changes"}
				if c.name != "" {
					order["name"] = c.name
				}
				person.must("pause_agents", order)
				starts := map[string]map[string]any{
					"claim_task":  {"taskId": free},
					"create_task": {"title": "more", "target": "alpha", "projectId": "parley"},
				}
				if c.scope != "project" {
					starts["send_message"] = map[string]any{"message": "m", "target": "alpha", "message_type": "STATUS"}
				}
				for name, in := range starts {
					if _, code := beta.call(name, in); (code == "PAUSED") != c.halts {
						t.Errorf("%s by beta with a pause of %s %s: %q", name, c.scope, c.name, code)
					}
				}
				// Reports, waits and a person's calls go on.
				beta.must("renew_claim", map[string]any{"taskId": held})
				beta.must("get_messages", map[string]any{"waitMs": 1})
				beta.must("complete_task", map[string]any{"taskId": held})
				person.must("send_message", map[string]any{"message": "m", "source": "me", "target": "beta", "message_type": "STATUS"})
				delete(order, "words")
				person.must("resume_agents", order)
				if c.halts {
					beta.must("claim_task", map[string]any{"taskId": free})
				}
			}
		}
	})
}

func TestAPausedCallIsLockedAndSaysWhy(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	hub.Op(hub.Human("u"), hub.Catalogue.Op("pause_agents"), map[string]any{"scope": "everything", "words": "lunch"})
	a := hub.Op(hub.Agent("u", "alpha"), hub.Catalogue.Op("send_message"),
		map[string]any{"message": "m", "target": "beta", "message_type": "STATUS"})
	if f := a.Fault(); a.Status != 423 || f.Code != "PAUSED" || !strings.Contains(f.Message, "lunch") {
		t.Errorf("answered %s", a)
	}
}

// A pause in another process of the same store holds after a short time.
func TestAPauseReachesOtherServersOfTheStore(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t, app.Schema())
	here, there := hubtest.New(t, db, hubtest.Options{}), hubtest.New(t, db, hubtest.Options{})
	person, beta := member{t, there, there.Human("u"), "", false}, member{t, here, here.Agent("u", "beta"), "", false}
	send := map[string]any{"message": "m", "target": "alpha", "message_type": "STATUS"}
	beta.must("send_message", send)
	person.must("pause_agents", map[string]any{"scope": "program", "name": "beta"})
	domaintest.Eventually(t, "the other server refuses", func() bool {
		_, code := beta.call("send_message", send)
		return code == "PAUSED"
	})
}

func TestACallThatWaitsClaimsNothingOnceItIsPaused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{Waits: &op.Waits{}})
		person, alpha := member{t, hub, hub.Human("u"), "", false}, member{t, hub, hub.Agent("u", "alpha"), "", false}
		beta := member{t, hub, hub.Agent("u", "beta"), "", false}
		ended := make(chan string, 1)
		go func() {
			_, code := beta.call("claim_next_task", map[string]any{"waitMs": 30_000})
			ended <- code
		}()
		domaintest.Eventually(t, "the call waits", func() bool { return hub.Catalogue.Waits.Now() == 1 })
		person.must("pause_agents", map[string]any{"scope": "program", "name": "beta"})
		id := alpha.must("create_task", map[string]any{"title": "t", "target": "beta"})["taskId"]
		if code := <-ended; code != "PAUSED" {
			t.Errorf("the waiting call ends with %q", code)
		}
		person.must("resume_agents", map[string]any{"scope": "program", "name": "beta"})
		if out := beta.must("claim_next_task", map[string]any{}); out["claimed"] != true ||
			out["task"].(map[string]any)["id"] != id {
			t.Errorf("after it the next claim has %v", out)
		}
	})
}

func TestAPauseHoldsWhateverNameTheCallerGives(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	person := member{t, hub, hub.Human("u"), "", false}
	loose := member{t, hub, hub.Key("u", keys.CreateInput{}), "", false}
	alpha := member{t, hub, hub.Agent("u", "alpha"), "", false}
	id := person.must("create_task", map[string]any{"title": "t", "target": "delta"})["taskId"]
	sprint := alpha.must("create_sprint", map[string]any{"projectName": "proj", "branch": "b",
		"stories": []any{map[string]any{"id": "s", "title": "t"}}})["sprintId"]
	for _, c := range []struct {
		scope, name string
		by          member
		op          string
		in          map[string]any
	}{
		{"program", "delta", loose, "send_message", map[string]any{"message": "m", "source": "Delta", "target": "alpha",
			"message_type": "STATUS"}},
		{"program", "delta", loose, "create_task", map[string]any{"title": "t", "source": "delta", "target": "alpha"}},
		{"program", "delta", loose, "claim_task", map[string]any{"taskId": id}},
		{"project", "proj", alpha, "update_sprint_story", map[string]any{"sprintId": sprint, "storyId": "s", "status": "active"}},
		{"project", "proj", alpha, "add_story_to_sprint", map[string]any{"sprintId": sprint,
			"story": map[string]any{"id": "new", "title": "t"}}},
		{"agent", "alpha/2", member{t, hub, alpha.key, "alpha/2", false}, "send_message", map[string]any{"message": "m",
			"target": "beta", "message_type": "STATUS", "sessionId": "alpha/3"}},
		{"everything", "", alpha, "elenchus_start_session", map[string]any{"target": "a", "requirements": "r", "workingDir": "/w"}},
		{"everything", "", alpha, "campfire_get_or_create_fire", map[string]any{"fireId": "f"}},
	} {
		order := map[string]any{"scope": c.scope}
		if c.name != "" {
			order["name"] = c.name
		}
		person.must("pause_agents", order)
		if out, code := c.by.call(c.op, c.in); code != "PAUSED" {
			t.Errorf("%s with a pause of %s %s: %v, %q", c.op, c.scope, c.name, out, code)
		}
		person.must("resume_agents", order)
		if _, code := c.by.call(c.op, c.in); code == "PAUSED" {
			t.Errorf("%s after the pause: %q", c.op, code)
		}
	}
}
