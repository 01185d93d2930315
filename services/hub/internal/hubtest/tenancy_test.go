package hubtest_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// marker is in every text that the first user writes.
const marker = "ONLYMINE"

// belongings are the ids of what a user has.
type belongings struct{ created, active, message, question, team, key, taskCursor, historyCursor, keyCursor, questionCursor string }

// nothings are ids in the same form of what never was.
func nothings(keyID string) belongings {
	return belongings{created: "01990000-0000-7000-8000-000000000001", active: "01990000-0000-7000-8000-000000000002",
		message: "01990000-0000-7000-8000-000000000003", question: "01990000-0000-7000-8000-000000000004",
		team: "some-team", key: strings.Repeat("0", len(keyID)), taskCursor: "bm90aGluZw", historyCursor: "bm90aGluZw",
		keyCursor: "bm90aGluZw", questionCursor: "bm90aGluZw"}
}

// reach is how a stranger tries to reach what another user has, by operation. An
// empty list is of an operation that takes nothing of another's.
var reach = map[string]func(b belongings) []args{
	"get_tasks": func(b belongings) []args {
		return []args{{"status": "all", "limit": 50}, {"target": "alpha", "status": "all"}, {"status": "all", "limit": 1, "cursor": b.taskCursor}}
	},
	"get_task": func(b belongings) []args {
		return []args{{"taskId": b.created}, {"taskId": b.active}, {"taskId": b.question}}
	},
	"create_task": func(belongings) []args { return []args{{"title": "t", "target": "alpha", "idempotencyKey": "theirs"}} },
	"claim_task": func(b belongings) []args {
		return []args{{"taskId": b.created}, {"taskId": b.active, "sessionId": "alpha.1"}}
	},
	"renew_claim": func(b belongings) []args { return []args{{"taskId": b.active, "claimToken": 1}} },
	"release_task": func(b belongings) []args {
		return []args{{"taskId": b.active, "claimToken": 1}}
	},
	"complete_task": func(b belongings) []args {
		return []args{{"taskId": b.active}, {"taskId": b.active, "claimToken": 1}}
	},
	"send_message": func(belongings) []args {
		return []args{{"message": "m", "source": "alpha", "target": "alpha", "message_type": "PING", "idempotencyKey": "theirs"}}
	},
	"get_messages": func(b belongings) []args {
		return []args{{}, {"includeDelivered": true}, {"threadId": "th"}, {"includeDelivered": true, "limit": 1, "cursor": b.historyCursor}}
	},
	"ack_messages": func(b belongings) []args { return []args{{"messageIds": []string{b.message}}} },
	"ask_question": func(belongings) []args { return []args{{"question": "q", "idempotencyKey": "theirs"}} },
	"get_response": func(b belongings) []args { return []args{{"questionId": b.question}, {"questionId": b.created}} },
	"answer_question": func(b belongings) []args {
		return []args{{"questionId": b.question, "response": "no"}}
	},
	"list_questions": func(b belongings) []args {
		return []args{{"status": "all"}, {"status": "all", "limit": 1, "cursor": b.questionCursor}}
	},
	"team_create": func(belongings) []args { return nil }, // below: a name that another took is free
	"team_read_config": func(b belongings) []args {
		return []args{{"team_name": b.team}}
	},
	"team_delete": func(b belongings) []args { return []args{{"team_name": b.team}} },
	"create_key":  func(belongings) []args { return nil },
	"list_keys":   func(b belongings) []args { return []args{{"limit": 100}, {"limit": 1, "cursor": b.keyCursor}} },
	"revoke_key":  func(b belongings) []args { return []args{{"keyId": b.key}} },
}

func TestAStrangerFindsNothingAndIsToldNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		mine := settle(t, hub)
		before := mine.look(t, hub)
		for _, o := range hub.Catalogue.Ops() {
			tries := reach[o.Name]
			if tries == nil {
				t.Errorf("%s: say how a stranger would reach for another's data", o.Name)
				continue
			}
			none := nothings(mine.key)
			for i := range tries(mine.belongings) {
				for _, transport := range []string{"rest", "mcp"} {
					if transport == "mcp" && o.RESTOnly {
						continue
					}
					// A stranger each, so that what one made does not show to the other.
					a := stranger(t, hub, transport+"1-"+o.Name).call(t, hub, transport, o, tries(mine.belongings)[i])
					b := stranger(t, hub, transport+"2-"+o.Name).call(t, hub, transport, o, tries(none)[i])
					if blind(a, mine.belongings) != blind(b, none) {
						t.Errorf("%s over %s %v:\nwith another's ids %s\nwith nobody's      %s", o.Name, transport, tries(mine.belongings)[i], a, b)
					}
					if strings.Contains(a, marker) {
						t.Errorf("%s over %s shows another's data: %s", o.Name, transport, a)
					}
				}
			}
		}
		if after := mine.look(t, hub); after != before {
			t.Errorf("a stranger changed another's data:\nbefore %s\nafter  %s", before, after)
		}
	})
}

func TestAnotherUsersNamesAreFree(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		settle(t, hub)
		theirs := hub.Agent("stranger", "alpha")
		for name, in := range map[string]args{
			"team_create":  {"team_name": "their-team"},
			"create_task":  {"title": "another", "target": "alpha", "idempotencyKey": "theirs"},
			"send_message": {"message": "another", "source": "alpha", "target": "beta", "message_type": "PING", "idempotencyKey": "theirs"},
			"ask_question": {"question": "another", "idempotencyKey": "theirs"},
		} {
			if a := hub.Op(theirs, hub.Catalogue.Op(name), in); a.Status != 201 || bytes.Contains(a.Body, []byte(marker)) {
				t.Errorf("%s: got %s, want it made as if nobody else had been there", name, a)
			}
		}
		// Nobody of theirs has the name of a program that another user has a key for.
		var sent struct{ Warning string }
		a := hub.Op(theirs, hub.Catalogue.Op("send_message"), args{"message": "m", "source": "alpha", "target": "onlymine", "message_type": "PING"})
		if err := a.Into(&sent); err != nil || !strings.Contains(sent.Warning, `"onlymine" is known`) || !strings.HasSuffix(sent.Warning, "Known: alpha") {
			t.Errorf("got the warning %q, %v; want one that names the caller's own programs", sent.Warning, err)
		}
	})
}

type owner struct {
	belongings
	agent, human string
}

// settle gives a user one of everything.
func settle(t *testing.T, hub *hubtest.Hub) owner {
	t.Helper()
	o := owner{agent: hub.Agent("owner", "alpha"), human: hub.Human("owner")}
	o.team = "their-team"
	made := hub.NewKey("owner", keys.CreateInput{Name: marker, Program: "onlymine"})
	o.key = made.ID
	var id struct{ TaskID, MessageID, QuestionID, NextCursor string }
	call := func(key, name string, in args) {
		t.Helper()
		id.NextCursor = ""
		if err := hub.Op(key, hub.Catalogue.Op(name), in).Into(&id); err != nil {
			t.Fatal(err)
		}
	}
	call(o.agent, "create_task", args{"title": marker, "target": "alpha", "instructions": marker, "idempotencyKey": "theirs"})
	o.created = id.TaskID
	call(o.agent, "create_task", args{"title": marker, "target": "alpha", "instructions": marker})
	o.active = id.TaskID
	call(o.agent, "claim_task", args{"taskId": o.active, "sessionId": "alpha.1"})
	call(o.agent, "send_message", args{"message": marker, "source": "alpha", "target": "alpha", "message_type": "QUERY", "threadId": "th", "idempotencyKey": "theirs"})
	o.message = id.MessageID
	call(o.agent, "ask_question", args{"question": marker, "idempotencyKey": "theirs"})
	o.question = id.QuestionID
	call(o.agent, "team_create", args{"team_name": o.team, "description": marker})
	call(o.agent, "get_tasks", args{"status": "all", "limit": 1})
	o.taskCursor = id.NextCursor
	call(o.agent, "get_messages", args{"includeDelivered": true, "limit": 1})
	o.historyCursor = id.NextCursor
	call(o.human, "list_keys", args{"limit": 1})
	o.keyCursor = id.NextCursor
	call(o.human, "list_questions", args{"status": "all", "limit": 1})
	o.questionCursor = id.NextCursor
	for _, c := range []string{o.taskCursor, o.historyCursor, o.keyCursor, o.questionCursor} {
		if c == "" {
			t.Fatal("a list of one has no cursor")
		}
	}
	return o
}

// look is all that the owner sees, but for when keys were used.
func (o owner) look(t *testing.T, hub *hubtest.Hub) string {
	t.Helper()
	var b strings.Builder
	see := func(key, name string, in args) {
		a := hub.Op(key, hub.Catalogue.Op(name), in)
		if a.Status != 200 {
			t.Fatalf("%s: %s", name, a)
		}
		b.Write(a.Data())
		b.WriteByte('\n')
	}
	see(o.agent, "get_tasks", args{"status": "all", "limit": 50})
	see(o.agent, "get_task", args{"taskId": o.active})
	see(o.agent, "get_messages", args{"markAsRead": false})
	see(o.human, "list_questions", args{"status": "all"})
	see(o.agent, "team_read_config", args{"team_name": o.team})
	if a := hub.REST(hub.Human("owner"), "GET", "/v1/keys?limit=100", nil); a.Status != 200 || bytes.Contains(a.Body, []byte("revokedAt")) {
		t.Errorf("a key was revoked: %s", a)
	}
	return b.String()
}

type visitor struct{ agent, human string }

func stranger(t *testing.T, hub *hubtest.Hub, user string) visitor {
	t.Helper()
	user = strings.ReplaceAll(user, "_", "-")
	return visitor{hub.Agent(user, "alpha"), hub.Key(user, keys.CreateInput{Kind: identity.Human, Name: "n"})}
}

// call is the answer without what differs from call to call.
func (v visitor) call(t *testing.T, hub *hubtest.Hub, transport string, o *op.Op, in args) string {
	t.Helper()
	key := v.agent
	if o.For != op.Anyone {
		key = v.human
	}
	if transport == "rest" {
		a := hub.Op(key, o, in)
		if f := a.Fault(); f.Code != "" {
			return f.Code + " " + f.Message
		}
		return string(a.Data())
	}
	a := hub.Tool(key, everything, o.Name, in)
	if a.IsError {
		return strings.Join(a.Texts, "\n")
	}
	return string(a.Structured)
}

// blind hides ids and times, which no two calls share.
func blind(answer string, b belongings) string {
	for _, id := range []string{b.created, b.active, b.message, b.question, b.key} {
		answer = strings.ReplaceAll(answer, id, "ID")
	}
	answer = strings.ReplaceAll(answer, `\"`+b.team+`\"`, "ID")
	answer = strings.ReplaceAll(answer, b.team, "ID")
	// When a key's use is noted is nobody's promise.
	return varying.ReplaceAllString(withoutUse.ReplaceAllString(answer, ""), "X")
}

var varying = regexp.MustCompile(`,?"(createdAt|expiresAt)":"[^"]+"|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|eyJ[A-Za-z0-9_-]{20,}`)
