package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// answer is what a call says, the id left out: its fault, or its output.
func (w *world) answer(c identity.Caller, name, id string, args map[string]any) string {
	w.t.Helper()
	data, err := w.call(c, name, args)
	said := string(data)
	if err != nil {
		f := fault.From(err)
		said = fmt.Sprintf("%v: %s (%v, %v)", f.Kind, f.Message, f.Problems, f.RetryAfter)
	}
	return strings.ReplaceAll(said, id, "ID")
}

func TestTheWalkCoversEveryOperation(t *testing.T) {
	t.Parallel()
	for _, o := range catalogue().Ops() {
		_, walked := reaches[o.Name]
		_, named := names[o.Name]
		if walked == (named || slices.Contains(takesNone, o.Name)) || (named && slices.Contains(takesNone, o.Name)) {
			t.Errorf("%s: say in the tenancy walk what id it takes, or that it takes none", o.Name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(reaches)), slices.Collect(maps.Keys(names)), takesNone) {
		if catalogue().Op(name) == nil {
			t.Errorf("there is no operation %s", name)
		}
	}
}

// To another user, what is someone's is as if it were nowhere.
func TestAnotherUsersDocumentsAreNowhere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		mine := w.settle("user-a")
		before := w.snapshot("user-a", mine)
		strangers := map[string]identity.Caller{
			"the program of the same name": bound("user-b", "alpha"), "its target": bound("user-b", "beta"),
			"an unbound key": {User: "user-b", KeyID: "the-same-key-id", Kind: identity.Agent}, "a human": human("user-b"),
			"an admin": {User: "user-b", KeyID: "k", Kind: identity.Agent, Scopes: []string{identity.ScopeAdmin}},
		}
		for who, c := range strangers {
			for _, table := range []map[string]reach{reaches, names} {
				for name, r := range table {
					id := r.id(mine)
					got, want := w.answer(c, name, id, r.args(id)), w.answer(c, name, nobodys, r.args(nobodys))
					if got != want {
						t.Errorf("%s, %s: answers %q, and for an id that is nowhere %q", who, name, got, want)
					}
				}
			}
		}
		if after := w.snapshot("user-a", mine); after != before {
			t.Errorf("what is user-a's was\n%s\nand is\n%s", before, after)
		}
	})
}

// first is the first answer that is not Forbidden, of an agent or a human.
func (w *world) first(user, name, id string) string {
	w.t.Helper()
	for _, c := range []identity.Caller{bound(user, "alpha"), human(user)} {
		if said := w.answer(c, name, id, reaches[name].args(id)); !strings.HasPrefix(said, "FORBIDDEN") {
			return said
		}
	}
	return "FORBIDDEN"
}

// The walk would prove nothing with ids or callers that no operation takes.
func TestTheWalkUsesIdsThatTheirOwnerReaches(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		mine := w.settle("user-a")
		names := slices.DeleteFunc(slices.Collect(maps.Keys(reaches)), func(name string) bool { return name == "team_delete" })
		for _, name := range append(names, "team_delete") { // the only one after which another finds nothing
			if said := w.first("user-a", name, reaches[name].id(mine)); strings.HasPrefix(said, "FORBIDDEN") || strings.HasPrefix(said, "NOT_FOUND") || strings.Contains(said, `"notFound":["ID"]`) {
				t.Errorf("%s: its owner gets %s", name, said)
			}
			if said := w.first("stranger", name, nobodys); !strings.HasPrefix(said, "NOT_FOUND") && !strings.Contains(said, `"notFound":["ID"]`) {
				t.Errorf("%s: a stranger gets %s", name, said)
			}
		}
	})
}

// snapshot is all that a user can read, marking nothing.
func (w *world) snapshot(user string, b belongings) string {
	w.t.Helper()
	var out strings.Builder
	read := func(c identity.Caller, name string, args map[string]any) {
		fmt.Fprintln(&out, name, w.answer(c, name, "\x00", args))
	}
	for _, id := range []string{b.task, b.claimed, b.dream, b.alert} {
		read(bound(user, "alpha"), "get_task", map[string]any{"taskId": id})
	}
	for _, name := range []string{"get_dead_letters", "list_groups", "list_sessions", "dream_peek"} {
		read(bound(user, "alpha"), name, map[string]any{})
	}
	read(bound(user, "alpha"), "get_sprint", map[string]any{"sprintId": b.sprint})
	read(human(user), "get_overview", map[string]any{})
	read(bound(user, "alpha"), "get_messages", map[string]any{"includeDelivered": true})
	read(bound(user, "alpha"), "get_response", map[string]any{"questionId": b.question})
	read(bound(user, "alpha"), "team_read_config", map[string]any{"team_name": b.team})
	read(bound(user, "alpha"), "team_task_list", map[string]any{"team_name": b.team})
	read(bound(user, "alpha"), "team_list_processes", map[string]any{"team_name": b.team})
	for _, name := range []string{"team-lead", "beta", "gamma", "delta"} {
		read(bound(user, "alpha"), "team_read_inbox", map[string]any{"team_name": b.team, "agent_name": name, "mark_as_read": false})
	}
	read(bound(user, "alpha"), "list_councils", map[string]any{})
	read(bound(user, "alpha"), "campfire_get_fire", map[string]any{"fireId": b.fire})
	read(bound(user, "alpha"), "elenchus_list_sessions", map[string]any{})
	read(human(user), "list_devices", map[string]any{})
	read(human(user), "get_notification_settings", map[string]any{})
	read(human(user), "list_keys", map[string]any{})
	return out.String()
}

func TestAnotherUsersListsAreEmpty(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		mine := w.settle("user-a")
		agent, person := bound("user-b", "alpha"), human("user-b")
		loose := identity.Caller{User: "user-b", KeyID: "the-same-key-id", Kind: identity.Agent}
		for _, c := range []struct {
			who   identity.Caller
			name  string
			args  map[string]any
			field string
		}{
			{agent, "get_tasks", map[string]any{"status": "all"}, "tasks"},
			{agent, "get_tasks", map[string]any{"status": "all", "target": "beta"}, "tasks"},
			{agent, "get_tasks", map[string]any{"status": "all", "source": "alpha"}, "tasks"},
			{agent, "get_tasks", map[string]any{"status": "all", "type": "question"}, "tasks"},
			{agent, "get_tasks", map[string]any{"status": "all", "type": "alert"}, "tasks"},
			{agent, "get_tasks", map[string]any{"status": "all", "type": "sprint"}, "tasks"},
			{agent, "get_tasks", map[string]any{"status": "all", "type": "sprint-story"}, "tasks"},
			{agent, "get_messages", map[string]any{}, "messages"},
			{agent, "get_messages", map[string]any{"includeDelivered": true}, "messages"},
			{loose, "get_messages", map[string]any{"target": "alpha", "threadId": mine.thread}, "messages"},
			{loose, "get_messages", map[string]any{"sessionId": "alpha.1", "markAsRead": false}, "messages"},
			{agent, "get_dead_letters", map[string]any{}, "messages"},
			{loose, "get_dead_letters", map[string]any{}, "messages"},
			{agent, "list_groups", map[string]any{}, "groups"},
			{agent, "list_sessions", map[string]any{}, "sessions"},
			{loose, "list_sessions", map[string]any{"programId": "alpha", "state": "working", "includeArchived": true}, "sessions"},
			{agent, "dream_peek", map[string]any{}, "dreams"},
			{loose, "dream_peek", map[string]any{}, "dreams"},
			{agent, "get_usage", map[string]any{}, "groups"},
			{person, "get_usage", map[string]any{"groupBy": "program"}, "groups"},
			{person, "get_overview", map[string]any{}, "sessions"},
			{person, "get_overview", map[string]any{}, "claims"},
			{person, "get_overview", map[string]any{}, "questions"},
			{person, "get_overview", map[string]any{}, "unread"},
			{person, "list_questions", map[string]any{"status": "all"}, "questions"},
			{person, "list_devices", map[string]any{}, "devices"},
			{agent, "list_councils", map[string]any{}, "sessions"},
			{agent, "elenchus_list_sessions", map[string]any{}, "sessions"},
			{person, "get_notification_settings", map[string]any{}, "off"},
			{person, "list_keys", map[string]any{}, "keys"},
		} {
			if list, ok := w.must(c.who, c.name, c.args)[c.field].([]any); !ok || len(list) != 0 {
				t.Errorf("%s %v: %v", c.name, c.args, list)
			}
			// The list of nobody's would prove nothing.
			if c.name == "get_messages" && c.args["includeDelivered"] == nil {
				c.args["markAsRead"] = false
			}
			c.who.User = "user-a"
			if list, _ := w.must(c.who, c.name, c.args)[c.field].([]any); len(list) == 0 {
				t.Errorf("%s %v: the owner's %s are empty", c.name, c.args, c.field)
			}
		}
		if got := w.must(bound("user-a", "alpha"), "get_messages", map[string]any{}); len(got["messages"].([]any)) != 1 {
			t.Errorf("the owner's mail is %v", got)
		}
	})
}

// What one user did must not show in what another may do.
func TestAnotherUsersNamesKeysAndCursorsAreFree(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		mine := w.settle("user-a")
		agent := bound("user-b", "alpha")
		w.must(agent, "team_create", map[string]any{"team_name": mine.team})
		created := w.must(agent, "create_task", map[string]any{"title": "another", "target": "beta", "idempotencyKey": "the-same"})
		if created["taskId"] == mine.task {
			t.Error("an idempotency key of another user's gives its task")
		}
		if began := w.must(agent, "create_session", map[string]any{"name": "another", "sessionId": mine.session}); began["created"] != true {
			t.Errorf("a session of another user's is taken up: %v", began)
		}
		for target, words := range map[string]string{"group:" + mine.group: "nor any other", "all": "there is none but the sender's"} {
			_, err := w.call(agent, "send_message", map[string]any{"message": "x", "source": "alpha", "target": target, "message_type": "PING"})
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("to %s of another user's: %v", target, err)
			}
		}
		sent := w.must(agent, "send_message", map[string]any{"message": "x", "source": "alpha", "target": "alpha", "message_type": "PING"})
		if warning := fmt.Sprint(sent["warning"]); !strings.Contains(warning, `no program named "alpha" is known`) || strings.Contains(warning, "Known:") {
			t.Errorf("the warning tells of another user's programs: %s", warning)
		}
		for _, list := range []string{"get_tasks", "list_sessions", "list_groups", "get_dead_letters"} {
			page := w.must(bound("user-a", "alpha"), list, map[string]any{"limit": 1})
			if page["nextCursor"] == nil {
				t.Errorf("%s: a page of one has no cursor", list)
			}
			for name, c := range map[string]any{"another user's": page["nextCursor"], "no one's": "nonsense"} {
				_, err := w.call(agent, list, map[string]any{"limit": 1, "cursor": c})
				if f := fault.From(err); f == nil || f.Kind != fault.Invalid || f.Problems[0].Path != "cursor" {
					t.Errorf("%s: a cursor of %s: %v", list, name, err)
				}
			}
		}
	})
}

// A team of the same name is another team, with messages, tasks and processes of its own.
func TestAnotherUsersTeamOfTheSameNameIsEmpty(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		mine := w.settle("user-a")
		before := w.snapshot("user-a", mine)
		call := func(user, name string, more map[string]any) (string, error) {
			args := map[string]any{"team_name": mine.team}
			maps.Copy(args, more)
			data, err := w.call(bound(user, "alpha"), name, args)
			return string(data), err
		}
		w.must(bound("user-b", "alpha"), "team_create", map[string]any{"team_name": mine.team})
		w.must(bound("user-b", "alpha"), "team_spawn_teammate", map[string]any{"team_name": mine.team, "name": "zeta", "prompt": "p", "backend_type": "external"})
		for _, list := range []struct {
			op    string
			args  map[string]any
			empty string
		}{
			{"team_task_list", nil, `{"tasks":[]}`},
			{"team_read_inbox", map[string]any{"agent_name": "delta", "mark_as_read": false}, `{"messages":[]}`},
			{"team_read_inbox", map[string]any{"agent_name": "team-lead", "mark_as_read": false}, `{"messages":[]}`},
			{"team_list_processes", nil, `{"processes":[]}`},
			{"team_list_processes", map[string]any{"runner": runner, "held": true}, `{"processes":[]}`},
		} {
			if got, err := call("user-b", list.op, list.args); err != nil || got != list.empty {
				t.Errorf("%s %v: %s, %v", list.op, list.args, got, err)
			}
			// The list of nobody's would prove nothing.
			if got, err := call("user-a", list.op, list.args); err != nil || got == list.empty {
				t.Errorf("%s %v: the owner gets %s, %v", list.op, list.args, got, err)
			}
		}
		for name, args := range map[string]map[string]any{
			"team_task_get":            {"task_id": "1"},
			"team_task_update":         {"task_id": "1", "subject": "mine"},
			"team_force_kill_teammate": {"agent_name": "delta"},
			"team_send_message":        {"type": "message", "recipient": "delta", "summary": "s", "content": "c"},
			"team_claim_process":       {"process_id": mine.process, "runner": runner},
			"team_report_process":      {"process_id": mine.process, "runner": runner, "state": "exited"},
		} {
			if _, err := call("user-b", name, args); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := call("user-b", "team_task_create", map[string]any{"subject": "mine", "description": "", "idempotencyKey": "the-same"}); err != nil || !strings.Contains(got, `"id":"1"`) {
			t.Errorf("its first task is %s, %v", got, err)
		}
		if after := w.snapshot("user-a", mine); after != before {
			t.Errorf("what is user-a's was\n%s\nand is\n%s", before, after)
		}
	})
}

// What one user calls, and fails with, is counted as that user's alone.
func TestACallIsCountedForItsUserAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		mine := w.settle("user-a")
		count := func(user string) string {
			w.flush()
			return fmt.Sprint(w.must(human(user), "get_usage", map[string]any{"groupBy": "tool"})["groups"])
		}
		before := count("user-a")
		if _, err := w.call(bound("user-b", "alpha"), "get_sprint", map[string]any{"sprintId": mine.sprint}); !fault.Is(err, fault.NotFound) {
			t.Fatal(err)
		}
		theirs := w.must(bound("user-b", "alpha"), "create_task", map[string]any{"title": "t", "target": "alpha"})
		w.must(bound("user-b", "alpha"), "complete_task", map[string]any{"taskId": w.must(bound("user-b", "alpha"), "claim_task", map[string]any{"taskId": theirs["taskId"]})["id"],
			"tokens_in": 7, "cost_usd": 0.5})
		w.flush()
		got := w.must(human("user-b"), "get_usage", map[string]any{"groupBy": "program"})
		if total := fmt.Sprint(got["total"]); total != "map[calls:4 costUsd:0.5 durationMs:0 errors:1 tokensIn:7 tokensOut:0]" || len(got["groups"].([]any)) != 1 {
			t.Errorf("user-b's own four calls come to %v", got)
		}
		// The first count is itself a call of user-a's, and the only one since.
		after := strings.Replace(count("user-a"), " map[calls:1 costUsd:0 durationMs:0 errors:0 key:get_usage tokensIn:0 tokensOut:0]", "", 1)
		if after != before {
			t.Errorf("user-a's calls were\n%s\nand are\n%s", before, after)
		}
	})
}

// A key leads to its own user, and to no other's documents.
func TestAKeyIsOfItsUserAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.settle("user-a"), w.settle("user-b")
		for user, own := range map[string]belongings{"user-a": a, "user-b": b} {
			c, _, err := w.Keys.Lookup(t.Context(), own.secret)
			if err != nil || c.User != user || c.Program != "alpha" || c.CanWrite() {
				t.Errorf("%s: %+v, %v", user, c, err)
			}
			var out struct{ Keys []struct{ ID string } }
			data, err := w.call(human(user), "list_keys", map[string]any{})
			if err != nil || json.Unmarshal(data, &out) != nil || len(out.Keys) != 1 || out.Keys[0].ID != own.key {
				t.Errorf("%s lists %s, %v", user, data, err)
			}
		}
	})
}
