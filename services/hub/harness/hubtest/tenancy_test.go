package hubtest_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestAStrangerFindsNothingAndIsToldNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := hubtest.NewClock()
		hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
		mine := settle(t, hub, clock)
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
					a := stranger(t, hub, clock, transport+"1-"+o.Name).call(t, hub, transport, o, tries(mine.belongings)[i])
					b := stranger(t, hub, clock, transport+"2-"+o.Name).call(t, hub, transport, o, tries(none)[i])
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
		clock := hubtest.NewClock()
		hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
		mine := settle(t, hub, clock)
		theirs := hub.Agent("stranger", "alpha")
		for name, in := range map[string]args{
			"team_create":   {"team_name": "their-team"},
			"create_task":   {"title": "another", "target": "alpha", "idempotencyKey": "theirs"},
			"send_message":  {"message": "another", "source": "alpha", "target": "beta", "message_type": "PING", "idempotencyKey": "theirs"},
			"ask_question":  {"question": "another", "idempotencyKey": "theirs"},
			"send_alert":    {"message": "another", "idempotencyKey": "theirs"},
			"create_sprint": {"projectName": "another", "branch": "b", "stories": []any{args{"id": "a", "title": "t"}}, "idempotencyKey": "theirs"},
		} {
			if a := hub.Op(theirs, hub.Catalogue.Op(name), in); a.Status != 201 || bytes.Contains(a.Body, []byte(marker)) {
				t.Errorf("%s: got %s, want it made as if nobody else had been there", name, a)
			}
		}
		// In their team of the same name there is nothing of another's.
		for name, c := range map[string]struct {
			in    args
			words string
		}{
			"team_task_get":      {args{"task_id": "1"}, "Task 1 not found in team"},
			"team_claim_process": {args{"process_id": mine.process, "runner": "their-runner"}, "not found in team"},
			"team_send_message":  {args{"type": "message", "recipient": "delta", "summary": "s", "content": "c"}, "is not a member of team"},
			"team_read_inbox":    {args{"agent_name": "team-lead", "cursor": mine.inboxCursor}, "use the one that came with the page before"},
		} {
			c.in["team_name"] = mine.team
			if a := hub.Op(theirs, hub.Catalogue.Op(name), c.in); a.Status < 400 || !strings.Contains(a.Fault().Message, c.words) || bytes.Contains(a.Body, []byte(marker)) {
				t.Errorf("%s: got %s, want %q", name, a, c.words)
			}
		}
		var began struct{ Created bool }
		if err := hub.Op(theirs, hub.Catalogue.Op("create_session"), args{"name": "another", "sessionId": mine.session}).Into(&began); err != nil || !began.Created {
			t.Errorf("got %+v, %v; want a session of their own under another's id", began, err)
		}
		for target, words := range map[string]string{"group:" + mine.group: "nor any other", "all": "there is none but the sender's"} {
			a := hub.Op(theirs, hub.Catalogue.Op("send_message"), args{"message": "m", "source": "alpha", "target": target, "message_type": "PING"})
			if a.Status < 400 || !strings.Contains(a.Fault().Message, words) {
				t.Errorf("to %s: got %s, want that nobody is reached", target, a)
			}
		}
		var device struct{ DeviceID string }
		if err := hub.Op(hub.Human("stranger"), hub.Catalogue.Op("register_device"), args{"token": "theirs", "platform": "ios"}).Into(&device); err != nil || device.DeviceID != mine.device {
			t.Errorf("got %+v, %v; want a device of their own by a token that another has", device, err)
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
func settle(t *testing.T, hub *hubtest.Hub, clock *hubtest.Clock) owner {
	t.Helper()
	o := owner{agent: hub.Agent("owner", "alpha"), human: hub.Human("owner")}
	o.team, o.group, o.fire = "their-team", "their-group", "their-fire"
	made := hub.NewKey("owner", keys.CreateInput{Name: marker, Program: "onlymine"})
	o.key = made.ID
	var id struct {
		TaskID, MessageID, QuestionID, AlertID, SessionID, SprintID, DeviceID, Mark, NextCursor string
		Session                                                                                 string `json:"session_id"`
		Next                                                                                    string `json:"next_cursor"`
		Process                                                                                 string `json:"process_id"`
	}
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
	call(o.agent, "create_task", args{"title": marker, "target": "any", "type": "dream", "dream": args{"branch": marker}})
	o.dream = id.TaskID
	// A dead letter: it ran out, and its recipient came by too late.
	call(o.agent, "send_message", args{"message": marker, "source": "alpha", "target": "alpha", "message_type": "STATUS", "ttl": 1})
	clock.Add(2 * time.Second)
	call(o.agent, "get_messages", args{})
	call(o.agent, "send_message", args{"message": marker, "source": "alpha", "target": "alpha", "message_type": "QUERY", "threadId": "th", "idempotencyKey": "theirs"})
	o.message = id.MessageID
	call(o.agent, "ask_question", args{"question": marker, "idempotencyKey": "theirs"})
	o.question = id.QuestionID
	call(o.agent, "send_alert", args{"message": marker, "idempotencyKey": "theirs"})
	o.alert = id.AlertID
	call(o.agent, "create_session", args{"name": marker, "status": marker, "idempotencyKey": "theirs"})
	o.session = id.SessionID
	call(o.agent, "set_group", args{"name": o.group, "members": []string{marker, "alpha", "beta"}})
	call(o.agent, "create_sprint", args{"projectName": marker, "branch": marker, "stories": []any{args{"id": "a", "title": marker}, args{"id": "b", "title": marker}}, "idempotencyKey": "theirs"})
	o.sprint = id.SprintID
	call(o.agent, "team_create", args{"team_name": o.team, "description": marker})
	call(o.agent, "team_spawn_teammate", args{"team_name": o.team, "name": "delta", "prompt": marker, "model": marker, "idempotencyKey": "theirs"})
	o.process = id.Process
	call(o.agent, "team_claim_process", args{"team_name": o.team, "process_id": o.process, "runner": "their-runner"})
	call(o.agent, "team_task_create", args{"team_name": o.team, "subject": marker, "description": marker, "metadata": args{marker: marker}, "idempotencyKey": "theirs"})
	call(o.agent, "team_task_update", args{"team_name": o.team, "task_id": "1", "owner": "delta"})
	for range 2 {
		call(o.human, "team_send_message", args{"team_name": o.team, "type": "message", "sender": "delta", "recipient": "team-lead", "summary": marker, "content": marker})
	}
	call(o.agent, "team_read_inbox", args{"team_name": o.team, "agent_name": "team-lead", "mark_as_read": false, "limit": 1})
	o.inboxCursor = id.NextCursor
	call(o.agent, "get_tasks", args{"status": "all", "limit": 1})
	o.taskCursor = id.NextCursor
	call(o.agent, "get_messages", args{"includeDelivered": true, "limit": 1})
	o.historyCursor = id.NextCursor
	call(o.agent, "get_dead_letters", args{"limit": 1})
	o.deadCursor = id.NextCursor
	call(o.agent, "list_sessions", args{"limit": 1})
	o.sessionCursor = id.NextCursor
	call(o.agent, "list_groups", args{"limit": 1})
	o.groupCursor = id.NextCursor
	call(o.human, "register_device", args{"token": "theirs", "platform": "web", "name": marker})
	o.device = id.DeviceID
	call(o.human, "list_devices", args{"limit": 1})
	o.deviceCursor = id.NextCursor
	call(o.agent, "start_council", args{"agent_name": "alpha", "request": marker, "idempotencyKey": "theirs"})
	o.council = id.Session
	call(o.human, "send_response", args{"agent_name": "beta", "session_id": o.council, "content": marker})
	call(o.agent, "get_current_session_data", args{"agent_name": "alpha"})
	o.councilCursor = id.Next
	call(o.agent, "campfire_get_or_create_fire", args{"fireId": o.fire})
	call(o.agent, "campfire_post_message", args{"fireId": o.fire, "text": marker})
	call(o.agent, "campfire_update_battle_plan", args{"fireId": o.fire, "content": marker})
	call(o.agent, "elenchus_start_session", args{"target": marker, "requirements": marker, "workingDir": "/w", "files": []any{args{"path": "a.ts", "content": marker}}})
	o.verification = id.SessionID
	call(o.agent, "elenchus_list_sessions", args{"limit": 1})
	o.verificationCursor = id.NextCursor
	call(o.human, "get_overview", args{})
	o.mark = id.Mark
	call(o.human, "list_keys", args{"limit": 1})
	o.keyCursor = id.NextCursor
	call(o.human, "list_questions", args{"status": "all", "limit": 1})
	o.questionCursor = id.NextCursor
	hub.Settle() // the calls are counted
	for _, c := range []string{o.taskCursor, o.historyCursor, o.deadCursor, o.sessionCursor, o.groupCursor, o.keyCursor, o.questionCursor, o.deviceCursor, o.councilCursor, o.verificationCursor, o.inboxCursor} {
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
		if a.Status != 200 || !bytes.Contains(a.Body, []byte(marker)) {
			t.Fatalf("%s: got %s, want what its owner wrote", name, a)
		}
		b.Write(a.Data())
		b.WriteByte('\n')
	}
	see(o.agent, "get_tasks", args{"status": "all", "limit": 50})
	see(o.agent, "get_task", args{"taskId": o.active})
	see(o.agent, "get_tasks", args{"status": "all", "type": "alert"})
	see(o.agent, "get_tasks", args{"status": "all", "type": "sprint"})
	see(o.agent, "get_sprint", args{"sprintId": o.sprint})
	see(o.agent, "dream_peek", args{})
	see(o.agent, "list_sessions", args{"includeArchived": true})
	see(o.agent, "list_groups", args{})
	see(o.agent, "get_messages", args{"markAsRead": false})
	see(o.agent, "get_dead_letters", args{})
	see(o.human, "get_overview", args{})
	see(o.human, "list_questions", args{"status": "all"})
	see(o.human, "list_devices", args{})
	see(hub.Key("owner", keys.CreateInput{Program: "alpha", Scopes: []string{"read"}}), "get_current_session_data", args{"agent_name": "alpha", "session_id": o.council})
	see(o.agent, "campfire_list_messages", args{"fireId": o.fire})
	see(o.agent, "campfire_get_fire", args{"fireId": o.fire})
	see(o.agent, "elenchus_get_context", args{"sessionId": o.verification, "path": "a.ts"})
	see(o.agent, "elenchus_list_sessions", args{})
	see(o.agent, "team_read_config", args{"team_name": o.team})
	see(o.agent, "team_task_list", args{"team_name": o.team})
	see(o.agent, "team_list_processes", args{"team_name": o.team})
	for _, name := range []string{"team-lead", "delta"} {
		see(o.agent, "team_read_inbox", args{"team_name": o.team, "agent_name": name, "mark_as_read": false})
	}
	if a := hub.REST(hub.Human("owner"), "GET", "/v1/keys?limit=100", nil); a.Status != 200 || bytes.Contains(a.Body, []byte("revokedAt")) {
		t.Errorf("a key was revoked: %s", a)
	}
	return b.String()
}

type visitor struct{ agent, human string }

func stranger(t *testing.T, hub *hubtest.Hub, clock *hubtest.Clock, user string) visitor {
	t.Helper()
	user = strings.ReplaceAll(user, "_", "-")
	agent := hub.Agent(user, "alpha")
	clock.Add(time.Second) // so that keys have an order
	return visitor{agent, hub.Key(user, keys.CreateInput{Kind: identity.Human, Name: "n"})}
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
	for _, id := range []string{b.created, b.active, b.dream, b.alert, b.message, b.question, b.session, b.sprint, b.key, b.device, b.council, b.verification, b.process} {
		answer = strings.ReplaceAll(answer, id, "ID")
	}
	for _, name := range []string{b.team, b.group, b.fire} {
		answer = strings.ReplaceAll(answer, `\"`+name+`\"`, "ID")
		answer = strings.ReplaceAll(answer, name, "ID")
	}
	// When a key's use is noted is nobody's promise.
	return varying.ReplaceAllString(withoutUse.ReplaceAllString(answer, ""), "X")
}

var varying = regexp.MustCompile(`,?"(createdAt|updatedAt|lastHeartbeat|expiresAt|turnDeadline)":"[^"]+"|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|eyJ[A-Za-z0-9_-]{20,}`)
