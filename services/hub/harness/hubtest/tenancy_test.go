package hubtest_test

import (
	"bytes"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestANameOfAnotherUserCanBeTaken(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		mine := createOwned(t, hub)
		theirs := hub.Agent("stranger", "alpha")
		for name, in := range map[string]args{
			"team_create": {"team_name": "their-team"},
			"create_task": {"title": "another", "target": "alpha", "idempotencyKey": "theirs"},
			"send_message": {"message": "another", "source": "alpha", "target": "beta", "message_type": "PING",
				"idempotencyKey": "theirs"},
			"ask_question": {"question": "another", "idempotencyKey": "theirs"},
			"send_alert":   {"message": "another", "idempotencyKey": "theirs"},
			"create_sprint": {"projectName": "another", "branch": "b", "stories": []any{args{"id": "a", "title": "t"}},
				"idempotencyKey": "theirs"},
		} {
			a := hub.Op(theirs, hub.Catalogue.Op(name), in)
			if a.Status != 201 || bytes.Contains(a.Body, []byte(marker)) {
				t.Errorf("%s: got %s, want it made as if there were no other user", name, a)
			}
		}
		// A team of the same name has nothing of the other user's team.
		for name, c := range map[string]struct {
			in    args
			words string
		}{
			"team_task_get":      {args{"task_id": "1"}, "Task 1 not found in team"},
			"team_claim_process": {args{"process_id": mine.process, "runner": "their-runner"}, "not found in team"},
			"team_send_message": {args{"type": "message", "recipient": "delta", "summary": "s", "content": "c"},
				"is not a member of team"},
			"team_read_inbox": {args{"agent_name": "team-lead", "cursor": mine.inboxCursor},
				"use the one that came with the page before"},
		} {
			c.in["team_name"] = mine.team
			a := hub.Op(theirs, hub.Catalogue.Op(name), c.in)
			if a.Status < 400 || !strings.Contains(a.Fault().Message, c.words) ||
				bytes.Contains(a.Body, []byte(marker)) {
				t.Errorf("%s: got %s, want %q", name, a, c.words)
			}
		}
		var began struct{ Created bool }
		err := hub.Op(theirs, hub.Catalogue.Op("create_session"),
			args{"name": "another", "sessionId": mine.session}).Into(&began)
		if err != nil || !began.Created {
			t.Errorf("got %+v, %v; want a session of their own under another's id", began, err)
		}
		for target, words := range map[string]string{
			"group:" + mine.group: "nor any other", "all": "there is none but the sender's",
		} {
			a := hub.Op(theirs, hub.Catalogue.Op("send_message"),
				args{"message": "m", "source": "alpha", "target": target, "message_type": "PING"})
			if a.Status < 400 || !strings.Contains(a.Fault().Message, words) {
				t.Errorf("to %s: got %s, want a refusal without recipients", target, a)
			}
		}
		var device struct{ DeviceID string }
		err = hub.Op(hub.Human("stranger"), hub.Catalogue.Op("register_device"),
			args{"token": "theirs", "platform": "ios"}).Into(&device)
		if err != nil || device.DeviceID != mine.device {
			t.Errorf("got %+v, %v; want a device of their own by a token that another has", device, err)
		}
		// A program of another user is unknown, although it has a key.
		var sent struct{ Warning string }
		a := hub.Op(theirs, hub.Catalogue.Op("send_message"),
			args{"message": "m", "source": "alpha", "target": "onlymine", "message_type": "PING"})
		if err := a.Into(&sent); err != nil || !strings.Contains(sent.Warning, `"onlymine" is known`) ||
			!strings.HasSuffix(sent.Warning, "Known: alpha") {
			t.Errorf("got the warning %q, %v; want one that names the caller's own programs", sent.Warning, err)
		}
	})
}

// marker is a part of every text that the owner writes.
const marker = "ONLYMINE"

// owned has the names and ids of the owner's objects that another user may take as well.
type owned struct{ team, process, inboxCursor, session, group, device string }

// createOwned creates objects of each kind for the user owner.
func createOwned(t *testing.T, hub *hubtest.Hub) owned {
	t.Helper()
	agent, human := hub.Agent("owner", "alpha"), hub.Human("owner")
	hub.NewKey("owner", keys.CreateInput{Name: marker, Program: "onlymine"})
	o := owned{team: "their-team", group: "their-group"}
	var id struct {
		SessionID, DeviceID, NextCursor string
		Process                         string `json:"process_id"`
	}
	call := func(key, name string, in args) {
		t.Helper()
		if err := hub.Op(key, hub.Catalogue.Op(name), in).Into(&id); err != nil {
			t.Fatal(err)
		}
	}
	call(agent, "create_task", args{"title": marker, "target": "alpha", "idempotencyKey": "theirs"})
	call(agent, "send_message", args{"message": marker, "source": "alpha", "target": "alpha", "message_type": "QUERY",
		"idempotencyKey": "theirs"})
	call(agent, "ask_question", args{"question": marker, "idempotencyKey": "theirs"})
	call(agent, "send_alert", args{"message": marker, "idempotencyKey": "theirs"})
	call(agent, "create_session", args{"name": marker, "status": marker, "idempotencyKey": "theirs"})
	o.session = id.SessionID
	call(agent, "set_group", args{"name": o.group, "members": []string{marker, "alpha", "beta"}})
	stories := []any{args{"id": "a", "title": marker}, args{"id": "b", "title": marker}}
	call(agent, "create_sprint", args{"projectName": marker, "branch": marker, "stories": stories,
		"idempotencyKey": "theirs"})
	call(agent, "team_create", args{"team_name": o.team, "description": marker})
	call(agent, "team_spawn_teammate", args{"team_name": o.team, "name": "delta", "prompt": marker,
		"idempotencyKey": "theirs"})
	o.process = id.Process
	call(agent, "team_task_create", args{"team_name": o.team, "subject": marker, "description": marker,
		"idempotencyKey": "theirs"})
	for range 2 {
		call(human, "team_send_message", args{"team_name": o.team, "type": "message", "sender": "delta",
			"recipient": "team-lead", "summary": marker, "content": marker})
	}
	call(agent, "team_read_inbox", args{"team_name": o.team, "agent_name": "team-lead", "mark_as_read": false,
		"limit": 1})
	o.inboxCursor = id.NextCursor
	call(human, "register_device", args{"token": "theirs", "platform": "web", "name": marker})
	o.device = id.DeviceID
	return o
}
