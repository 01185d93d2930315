package hubtest_test

import (
	"bytes"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// marker is a part of every text that the owner writes.
const marker = "ONLYMINE"

// The tenancy suite of the catalogue calls as a stranger without any data. Only a stranger with a team of the same name
// reaches the ids within it, and no example can make such a team.
func TestATeamHasNothingOfAnotherUsersTeamWithItsName(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		agent, human, theirs := hub.Agent("owner", "alpha"), hub.Human("owner"), hub.Agent("stranger", "alpha")
		var made struct {
			NextCursor string
			Process    string `json:"process_id"`
		}
		call := func(key, name string, in args) {
			t.Helper()
			in["team_name"] = "team"
			hubtest.Must(t, hub.Op(key, hub.Catalogue.Op(name), in).Into(&made))
		}
		call(agent, "team_create", args{"description": marker})
		call(agent, "team_spawn_teammate", args{"name": "delta", "prompt": marker})
		call(agent, "team_task_create", args{"subject": marker, "description": marker})
		for range 2 {
			call(human, "team_send_message", args{"type": "message", "sender": "delta", "recipient": "team-lead",
				"summary": marker, "content": marker})
		}
		call(agent, "team_read_inbox", args{"agent_name": "team-lead", "mark_as_read": false, "limit": 1})
		process, cursor := made.Process, made.NextCursor
		if process == "" || cursor == "" {
			t.Fatalf("the owner has %+v, want a process and a cursor", made)
		}

		call(theirs, "team_create", args{})
		for name, c := range map[string]struct {
			in    args
			words string
		}{
			"team_task_get":      {args{"task_id": "1"}, "Task 1 not found in team"},
			"team_claim_process": {args{"process_id": process, "runner": "their-runner"}, "not found in team"},
			"team_send_message": {args{"type": "message", "recipient": "delta", "summary": "s", "content": "c"},
				"is not a member of team"},
			"team_read_inbox": {args{"agent_name": "team-lead", "cursor": cursor},
				"use the one that came with the page before"},
		} {
			c.in["team_name"] = "team"
			a := hub.Op(theirs, hub.Catalogue.Op(name), c.in)
			if a.Status < 400 || !strings.Contains(a.Fault().Message, c.words) ||
				bytes.Contains(a.Body, []byte(marker)) {
				t.Errorf("%s: got %s, want %q", name, a, c.words)
			}
		}
	})
}

// The id of a device is made of its token, so devices of two users have the same id. The suite of the catalogue hides
// ids and cannot tell.
func TestATokenOfAnotherUsersDeviceRegistersADevice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		register := func(user string) string {
			t.Helper()
			var out struct{ DeviceID string }
			hubtest.Must(t, hub.Op(hub.Human(user), hub.Catalogue.Op("register_device"),
				args{"token": "the token", "platform": "ios", "name": user}).Into(&out))
			return out.DeviceID
		}
		if mine, theirs := register("owner"), register("stranger"); mine == "" || mine != theirs {
			t.Errorf("got the ids %q and %q, want the same", mine, theirs)
		}
		for _, user := range []string{"owner", "stranger"} {
			a := hub.Op(hub.Human(user), hub.Catalogue.Op("list_devices"), args{})
			if n := bytes.Count(a.Body, []byte(`"name"`)); n != 1 || !bytes.Contains(a.Body, []byte(user)) {
				t.Errorf("%s has %s, want the own device alone", user, a)
			}
		}
	})
}
