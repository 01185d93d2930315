package hubtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
)

// budget is how many RPCs a call may make at most, the last section of spec/grid.md;
// what is not named may make three. Caches are warm, and nobody contends.
var budget = map[string]int{
	"create_task": 1, "get_tasks": 1, "send_message": 1, "get_messages": 2, "get_response": 1, "ask_question": 1,
	"update_session": 2, "list_sessions": 2,
	"team_spawn_teammate": 2, "team_heartbeat": 2, "team_read_config": 2, "team_send_message": 2, "team_task_create": 2, "team_task_list": 2, "team_task_get": 2,
	"team_list_processes": 2, "team_claim_process": 2, "team_report_process": 2,
}

const anyBudget = 3

// over is what some calls may make past the budget of their operation, by the names
// that they have in [spending].
var over = map[string]struct {
	may int
	why string
}{
	"create_task with an idempotency key":                  {2, "the key has to be read"},
	"ask_question with an idempotency key":                 {2, "the key has to be read"},
	"send_message with an idempotency key":                 {2, "the key has to be read"},
	"send_message to a group":                              {2, "a group has to be read"},
	"send_message to all":                                  {2, "who is there has to be read"},
	"send_message to a group, with an idempotency key":     {3, "a group and the key have to be read"},
	"create_sprint of 200 stories":                         {1, "it is one commit"},
	"update_sprint_story that ends the last of its sprint": {6, "the sprint is made completing, once: it is looked at again with all its stories, and written"},
	"add_story_to_sprint with an idempotency key":          {4, "the key has to be read"},
	"campfire_ping":                                        {0, "it reads nothing"},
	"campfire_echo":                                        {0, "it reads nothing"},
	"team_spawn_teammate with an idempotency key":          {3, "the key has to be read"},
	"team_task_create with an idempotency key":             {3, "the key has to be read"},
	"team_send_message with an idempotency key":            {3, "the key has to be read"},
	"team_send_message to all, with an idempotency key":    {4, "who is there and the key have to be read"},
	"team_send_message to all":                             {3, "who is there has to be read before their inboxes"},
	"team_report_process that it has ended":                {3, "the board and the lead's inbox have to be read"},
	"team_heartbeat of the end":                            {3, "the board and the lead's inbox have to be read"},
	"get_overview":                                         {5 + boxes, "a human's view, which no agent polls: live sessions and claims with their documents apart, questions, and a count of the mail of each program"},
}

// boxes is how many programs there are where an overview is measured.
const boxes = 2

// spent is a call to measure: it is made with what prepare returns.
type spent struct {
	name, op string
	human    bool
	prepare  func(m *meter) args
}

func (s spent) String() string { return strings.TrimSpace(s.op + " " + s.name) }

// allowed is how many RPCs the call may make.
func (s spent) allowed() int {
	if o, ok := over[s.String()]; ok {
		return o.may
	}
	if n, ok := budget[s.op]; ok {
		return n
	}
	return anyBudget
}

// spending uses every operation, at its dearest first.
var spending = []spent{
	{"", "create_task", false, func(*meter) args { return args{"title": "t", "target": "alpha"} }},
	{"with an idempotency key", "create_task", false, func(m *meter) args { return args{"title": "t", "target": "alpha", "idempotencyKey": "k"} }},
	{"", "get_tasks", false, func(*meter) args { return args{} }},
	{"for a program", "get_tasks", false, func(*meter) args { return args{"target": "alpha", "status": "all", "limit": 50} }},
	{"", "get_task", false, func(m *meter) args { return args{"taskId": m.task()} }},
	{"of a claimed task", "get_task", false, func(m *meter) args { return args{"taskId": m.claimed()} }},
	{"", "claim_task", false, func(m *meter) args { return args{"taskId": m.task()} }},
	{"of what is claimed", "claim_task", false, func(m *meter) args { return args{"taskId": m.claimed()} }},
	{"", "renew_claim", false, func(m *meter) args { return args{"taskId": m.claimed(), "claimToken": 1} }},
	{"", "release_task", false, func(m *meter) args { return args{"taskId": m.claimed(), "claimToken": 1} }},
	{"", "complete_task", false, func(m *meter) args { return args{"taskId": m.claimed()} }},
	{"with a note", "update_task", false, func(m *meter) args { return args{"taskId": m.claimed(), "note": "n"} }},
	{"to blocked", "update_task", false, func(m *meter) args { return args{"taskId": m.claimed(), "status": "blocked"} }},
	{"to derezzed", "update_task", false, func(m *meter) args { return args{"taskId": m.task(), "status": "derezzed"} }},
	{"", "send_message", false, func(*meter) args {
		return args{"message": "m", "source": "alpha", "target": "beta", "message_type": "PING"}
	}},
	{"to nobody", "send_message", false, func(*meter) args {
		return args{"message": "m", "source": "alpha", "target": "nobody", "message_type": "PING"}
	}},
	{"with an idempotency key", "send_message", false, func(*meter) args {
		return args{"message": "m", "source": "alpha", "target": "beta", "message_type": "PING", "idempotencyKey": "k"}
	}},
	{"to a group", "send_message", false, func(m *meter) args {
		return args{"message": "m", "source": "alpha", "target": "group:" + m.group(), "message_type": "PING"}
	}},
	{"to a group, with an idempotency key", "send_message", false, func(m *meter) args {
		return args{"message": "m", "source": "alpha", "target": "group:" + m.group(), "message_type": "PING", "idempotencyKey": "g"}
	}},
	{"to all", "send_message", false, func(m *meter) args {
		m.make(m.hub.Catalogue.Op("create_session"), m.human, args{"name": "another's", "programId": "gamma"})
		return args{"message": "m", "source": "alpha", "target": "all", "message_type": "PING"}
	}},
	{"of nothing", "get_messages", false, func(*meter) args { return args{} }},
	{"with messages", "get_messages", false, func(m *meter) args { m.message(); m.message(); return args{} }},
	{"peeking", "get_messages", false, func(m *meter) args { m.message(); return args{"markAsRead": false} }},
	{"of the history", "get_messages", false, func(m *meter) args { return args{"includeDelivered": true} }},
	{"", "ack_messages", false, func(m *meter) args { return args{"messageIds": []string{m.message(), m.message(), "nobody-made-this"}} }},
	{"", "get_dead_letters", false, func(m *meter) args { m.dead(); return args{} }},
	{"", "set_group", false, func(*meter) args { return args{"name": "g", "members": []string{"alpha", "nobody"}} }},
	{"to nobody", "set_group", false, func(*meter) args { return args{"name": "g", "members": []string{}} }},
	{"", "list_groups", false, func(m *meter) args { m.group(); return args{} }},
	{"", "create_session", false, func(*meter) args { return args{"name": "n"} }},
	{"that is there", "create_session", false, func(m *meter) args { return args{"name": "n", "sessionId": m.session()} }},
	{"with an idempotency key", "create_session", false, func(m *meter) args {
		return args{"name": "n", "sessionId": m.session(), "idempotencyKey": "k"}
	}},
	{"with a heartbeat", "update_session", false, func(m *meter) args { return args{"sessionId": m.session(), "lastHeartbeat": true} }},
	{"with news", "update_session", false, func(m *meter) args {
		return args{"sessionId": m.session(), "state": "blocked", "status": "s", "progress": 1}
	}},
	{"of the newest", "update_session", false, func(m *meter) args { m.session(); return args{"lastHeartbeat": true} }},
	{"", "list_sessions", false, func(m *meter) args { m.session(); return args{} }},
	{"of a program", "list_sessions", false, func(m *meter) args {
		m.session()
		return args{"programId": "alpha", "state": "working", "includeArchived": true, "limit": 50}
	}},
	{"", "ask_question", false, func(*meter) args { return args{"question": "q"} }},
	{"with an idempotency key", "ask_question", false, func(*meter) args { return args{"question": "q", "idempotencyKey": "k"} }},
	{"", "send_alert", false, func(*meter) args { return args{"message": "m"} }},
	{"with an idempotency key", "send_alert", false, func(*meter) args { return args{"message": "m", "idempotencyKey": "k"} }},
	{"", "get_response", false, func(m *meter) args { return args{"questionId": m.question()} }},
	{"", "answer_question", true, func(m *meter) args { return args{"questionId": m.question(), "response": "r"} }},
	{"", "list_questions", true, func(*meter) args { return args{"status": "all"} }},
	{"", "register_device", true, func(*meter) args { return args{"token": "t", "platform": "web"} }},
	{"with an idempotency key", "register_device", true, func(*meter) args { return args{"token": "t", "platform": "web", "idempotencyKey": "k"} }},
	{"", "list_devices", true, func(m *meter) args { m.device(); return args{} }},
	{"", "delete_device", true, func(m *meter) args { return args{"deviceId": m.device()} }},
	{"", "get_notification_settings", true, func(*meter) args { return args{} }},
	{"", "set_notification_settings", true, func(*meter) args { return args{"off": []string{"dreams"}} }},
	{"", "start_council", false, func(*meter) args { return args{"agent_name": "alpha", "request": "r"} }},
	{"", "join_council", false, func(m *meter) args { return args{"agent_name": "alpha", "session_id": m.council()} }},
	{"", "get_current_session_data", false, func(m *meter) args { return args{"agent_name": "alpha", "session_id": m.council()} }},
	{"of the current", "get_current_session_data", false, func(m *meter) args { m.council(); return args{"agent_name": "alpha"} }},
	{"", "send_response", false, func(m *meter) args { return args{"agent_name": "alpha", "session_id": m.council(), "content": "c"} }},
	{"", "rank_responses", false, func(m *meter) args {
		id := m.council()
		m.make(m.hub.Catalogue.Op("send_response"), m.human, args{"agent_name": "beta", "session_id": id, "content": "c"})
		return args{"agent_name": "alpha", "session_id": id, "ranking": []string{"A"}}
	}},
	{"", "close_council", false, func(m *meter) args { return args{"agent_name": "alpha", "session_id": m.council(), "conclusion": "c"} }},
	{"", "list_councils", false, func(m *meter) args { m.council(); return args{} }},
	{"", "campfire_ping", false, func(*meter) args { return args{} }},
	{"", "campfire_echo", false, func(*meter) args { return args{"message": "m"} }},
	{"", "campfire_get_or_create_fire", false, func(*meter) args { return args{"fireId": "f"} }},
	{"", "campfire_post_message", false, func(m *meter) args { return args{"fireId": m.fire("post"), "text": "t"} }},
	{"", "campfire_speak_to_party", false, func(m *meter) args { return args{"fireId": m.fire("speak"), "text": "t"} }},
	{"", "campfire_list_messages", false, func(m *meter) args { return args{"fireId": m.fire("list")} }},
	{"", "campfire_update_battle_plan", false, func(m *meter) args { return args{"fireId": m.fire("plan"), "content": "c"} }},
	{"", "campfire_get_fire", false, func(m *meter) args { return args{"fireId": m.duel("get", 0)} }},
	{"", "campfire_throw_gauntlet", false, func(m *meter) args {
		return args{"fireId": m.fire("throw"), "challenger_name": "alpha", "target_name": "beta", "thesis_of_attack": "t"}
	}},
	{"", "campfire_take_oath_of_judgement", false, func(m *meter) args { return args{"fireId": m.duel("oath", 0), "character_name": "alpha"} }},
	{"", "campfire_strike_argument", true, func(m *meter) args {
		return args{"fireId": m.duel("strike", 1), "character_name": "gamma", "technical_evidence": "e"}
	}},
	{"", "campfire_hold_the_line", true, func(m *meter) args {
		return args{"fireId": m.duel("hold", 2), "character_name": "beta", "defense_rationale": "r", "surrender": false}
	}},
	{"", "campfire_deliver_verdict", true, func(m *meter) args {
		return args{"fireId": m.duel("verdict", 3), "character_name": "delta", "winner": "defender", "ruling_rationale": "r", "required_plan_mutation": "p"}
	}},
	{"", "campfire_abandon_duel", false, func(m *meter) args { return args{"fireId": m.duel("abandon", 0)} }},
	{"", "campfire_list_duels", false, func(m *meter) args { return args{"fireId": m.fire("duels")} }},
	{"", "elenchus_start_session", false, func(*meter) args { return verification }},
	{"", "elenchus_get_context", false, func(m *meter) args { return args{"sessionId": m.verification()} }},
	{"with a path", "elenchus_get_context", false, func(m *meter) args { return args{"sessionId": m.verification(), "path": "a.ts"} }},
	{"", "elenchus_submit_round", false, func(m *meter) args { return round(m.verification(), "verifier") }},
	{"", "elenchus_add_files", false, func(m *meter) args {
		return args{"sessionId": m.verification(), "files": []any{args{"path": "b.ts", "content": "c"}}}
	}},
	{"", "elenchus_get_issues", false, func(m *meter) args { return args{"sessionId": m.verification()} }},
	{"", "elenchus_checkpoint", false, func(m *meter) args { return args{"sessionId": m.verification()} }},
	{"", "elenchus_rollback", false, func(m *meter) args {
		id := m.verification()
		m.make(m.hub.Catalogue.Op("elenchus_submit_round"), m.agent, round(id, "verifier"))
		m.make(m.hub.Catalogue.Op("elenchus_submit_round"), m.agent, round(id, "critic"))
		return args{"sessionId": id, "toRound": 2}
	}},
	{"", "elenchus_end_session", false, func(m *meter) args { return args{"sessionId": m.verification(), "verdict": "PASS"} }},
	{"", "elenchus_list_sessions", false, func(m *meter) args { m.verification(); return args{} }},
	{"", "dream_peek", false, func(m *meter) args { m.dream(); return args{} }},
	{"", "dream_activate", false, func(m *meter) args { return args{"dreamId": m.dream()} }},
	{"of what is no dream", "dream_activate", false, func(m *meter) args { return args{"dreamId": m.task()} }},
	{"of 200 stories", "create_sprint", false, func(*meter) args { return args{"projectName": "p", "branch": "b", "stories": stories(200)} }},
	{"with an idempotency key", "create_sprint", false, func(*meter) args {
		return args{"projectName": "p", "branch": "b", "stories": stories(2), "idempotencyKey": "k"}
	}},
	{"that takes it up", "update_sprint_story", false, func(m *meter) args { return args{"sprintId": m.sprint(), "storyId": "s0", "status": "active"} }},
	{"that waits", "update_sprint_story", false, func(m *meter) args { return args{"sprintId": m.sprint(), "storyId": "s1", "status": "active"} }},
	{"with progress", "update_sprint_story", false, func(m *meter) args { return args{"sprintId": m.busy("s0"), "storyId": "s0", "progress": 50} }},
	{"that completes it, with others to come", "update_sprint_story", false, func(m *meter) args { return args{"sprintId": m.busy("s0"), "storyId": "s0", "status": "complete"} }},
	{"that gives it back", "update_sprint_story", false, func(m *meter) args { return args{"sprintId": m.busy("s0"), "storyId": "s0", "status": "queued"} }},
	{"that fails for good, with others to come", "update_sprint_story", false, func(m *meter) args { return args{"sprintId": m.busy("s0"), "storyId": "s0", "status": "failed"} }},
	{"that fails and alerts its human", "update_sprint_story", false, func(m *meter) args { return args{"sprintId": m.busy("s0", "s1"), "storyId": "s1", "status": "failed"} }},
	{"that ends the last of its sprint", "update_sprint_story", false, func(m *meter) args {
		return args{"sprintId": m.busy("s0", "s1"), "storyId": "s1", "status": "complete"}
	}},
	{"", "add_story_to_sprint", false, func(m *meter) args {
		return args{"sprintId": m.sprint(), "story": args{"id": "new", "title": "t", "dependencies": []string{"s0", "s1"}}}
	}},
	{"with an idempotency key", "add_story_to_sprint", false, func(m *meter) args {
		return args{"sprintId": m.sprint(), "story": args{"id": "new", "title": "t", "dependencies": []string{"s0"}}, "idempotencyKey": "k"}
	}},
	{"", "get_sprint", false, func(m *meter) args { return args{"sprintId": m.sprint()} }},
	{"", "complete_sprint", false, func(m *meter) args { return args{"sprintId": m.sprint()} }},
	{"of 200 stories", "complete_sprint", false, func(m *meter) args {
		return args{"sprintId": m.made("create_sprint", "sprintId", args{"projectName": "p", "branch": "b", "stories": stories(200)})}
	}},
	{"", "get_usage", false, func(*meter) args { return args{} }},
	{"", "get_overview", true, func(m *meter) args {
		m.key() // of a second program
		m.session()
		m.claimed()
		m.question()
		m.message() // warms the cache of who the programs are
		return args{}
	}},
	{"", "team_create", false, func(*meter) args { return args{"team_name": "the-team"} }},
	{"", "team_spawn_teammate", false, func(*meter) args { return args{"team_name": "the-team", "name": "beta", "prompt": "p"} }},
	{"with an idempotency key", "team_spawn_teammate", false, func(*meter) args {
		return args{"team_name": "the-team", "name": "gamma", "prompt": "p", "idempotencyKey": "k"}
	}},
	{"", "team_read_config", false, func(*meter) args { return args{"team_name": "the-team"} }},
	{"", "team_send_message", false, func(*meter) args {
		return args{"team_name": "the-team", "type": "message", "recipient": "beta", "summary": "s", "content": "c"}
	}},
	{"with an idempotency key", "team_send_message", false, func(*meter) args {
		return args{"team_name": "the-team", "type": "message", "recipient": "beta", "summary": "s", "content": "c", "idempotencyKey": "k"}
	}},
	{"to all", "team_send_message", false, func(*meter) args { return args{"team_name": "the-team", "type": "broadcast", "summary": "s"} }},
	{"to all, with an idempotency key", "team_send_message", false, func(*meter) args {
		return args{"team_name": "the-team", "type": "broadcast", "summary": "s", "idempotencyKey": "a"}
	}},
	{"to shut down", "team_send_message", false, func(*meter) args {
		return args{"team_name": "the-team", "type": "shutdown_request", "recipient": "beta"}
	}},
	{"that marks", "team_read_inbox", true, func(*meter) args { return args{"team_name": "the-team", "agent_name": "beta"} }},
	{"peeking", "team_read_inbox", true, func(*meter) args {
		return args{"team_name": "the-team", "agent_name": "beta", "mark_as_read": false}
	}},
	{"that marks", "team_poll_inbox", true, func(*meter) args { return args{"team_name": "the-team", "agent_name": "gamma"} }},
	{"of nothing", "team_poll_inbox", true, func(*meter) args {
		return args{"team_name": "the-team", "agent_name": "gamma", "timeout_ms": 0}
	}},
	{"", "team_task_create", false, func(*meter) args { return args{"team_name": "the-team", "subject": "s", "description": "d"} }},
	{"with an idempotency key", "team_task_create", false, func(*meter) args {
		return args{"team_name": "the-team", "subject": "s", "description": "d", "idempotencyKey": "k"}
	}},
	{"of all at once", "team_task_update", false, func(m *meter) args {
		return args{"team_name": "the-team", "task_id": m.teamTask(), "status": "in_progress", "owner": "beta", "subject": "t", "description": "d", "active_form": "a",
			"add_blocks": []string{m.teamTask()}, "metadata": args{"k": "v"}}
	}},
	{"that deletes", "team_task_update", false, func(m *meter) args {
		return args{"team_name": "the-team", "task_id": m.teamTask(), "status": "deleted"}
	}},
	{"", "team_task_list", false, func(*meter) args { return args{"team_name": "the-team"} }},
	{"", "team_task_get", false, func(m *meter) args { return args{"team_name": "the-team", "task_id": m.teamTask()} }},
	{"", "team_list_processes", false, func(*meter) args { return args{"team_name": "the-team"} }},
	{"for a runner", "team_list_processes", false, func(*meter) args { return args{"team_name": "the-team", "runner": "r"} }},
	{"", "team_claim_process", false, func(m *meter) args { return args{"team_name": "the-team", "process_id": m.process(), "runner": "r"} }},
	{"that it runs", "team_report_process", false, func(m *meter) args {
		return args{"team_name": "the-team", "process_id": m.held(), "runner": "r", "state": "running", "pid": 1}
	}},
	{"that it has ended", "team_report_process", false, func(m *meter) args {
		return args{"team_name": "the-team", "process_id": m.held(), "runner": "r", "state": "exited", "exit_code": 0}
	}},
	{"", "team_heartbeat", true, func(*meter) args { return args{"team_name": "the-team", "agent_name": "beta"} }},
	{"of the end", "team_heartbeat", true, func(*meter) args { return args{"team_name": "the-team", "agent_name": "beta", "state": "exited"} }},
	{"that works, with a process", "team_force_kill_teammate", false, func(m *meter) args {
		m.make(m.hub.Catalogue.Op("team_task_update"), m.agent, args{"team_name": "the-team", "task_id": m.teamTask(), "status": "in_progress", "owner": "beta"})
		return args{"team_name": "the-team", "agent_name": "beta"}
	}},
	{"", "team_process_shutdown_approved", false, func(*meter) args { return args{"team_name": "the-team", "agent_name": "gamma"} }},
	{"that has teammates", "team_delete", false, func(*meter) args { return args{"team_name": "the-team"} }},
	{"", "team_delete", true, func(m *meter) args {
		m.make(m.hub.Catalogue.Op("team_create"), m.human, args{"team_name": "another"})
		return args{"team_name": "another"}
	}},
	{"", "create_key", true, func(*meter) args { return args{"program": "gamma"} }},
	{"", "list_keys", true, func(*meter) args { return args{} }},
	{"", "revoke_key", true, func(m *meter) args { return args{"keyId": m.key()} }},
}

func TestACallKeepsToItsBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	measured := map[string]bool{}
	for _, s := range spending {
		o := m.hub.Catalogue.Op(s.op)
		measured[s.op] = true
		key := m.agent
		if s.human {
			key = m.human
		}
		in := s.prepare(m)
		m.hub.Settle()
		before := m.rpcs()
		var failed bool
		var answer hubtest.Answer
		if o.RESTOnly {
			answer = m.hub.Op(key, o, in)
			failed = answer.Status >= 500
		} else {
			a := m.hub.Tool(key, everything, s.op, in)
			answer, failed = a.Answer, a.Err != nil || (a.IsError && a.Fault().Code != "FAILED_PRECONDITION")
		}
		after := m.rpcs()
		if failed {
			t.Errorf("%s: %s", s, answer)
		}
		made := map[string]int{}
		n := 0
		for method, count := range after {
			// A transaction that wrote nothing is rolled back off the path of the call.
			if d := count - before[method]; d > 0 && method != "Rollback" {
				made[method] = d
				n += d
			}
		}
		if n > s.allowed() || (n == 0) != (s.allowed() == 0) {
			t.Errorf("%s made %d RPCs, want at most %d: %v; over the budget: %q", s, n, s.allowed(), made, over[s.String()].why)
		}
		t.Logf("%s: %d of %d %v", s, n, s.allowed(), made)
	}
	for name := range over {
		if !slices.ContainsFunc(spending, func(s spent) bool { return s.String() == name }) {
			t.Errorf("%s may make more RPCs, and is not measured", name)
		}
	}
	for _, o := range m.hub.Catalogue.Ops() {
		if !measured[o.Name] {
			t.Errorf("%s: say how it is measured", o.Name)
		}
	}
}

func TestAnInboxReadTouchesThatProgramsDueMessagesOnly(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	beta := m.hub.Agent("u", "beta")
	send := func(target, text string) {
		if a := m.hub.REST(m.agent, "POST", "/v1/messages", args{"message": text, "source": "alpha", "target": target, "message_type": "STATUS"}); a.Status != 201 {
			t.Fatal(a)
		}
	}
	for i := range 20 {
		send("gamma", fmt.Sprint("another's ", i))
		send("beta", fmt.Sprint("read before ", i))
	}
	if a := m.hub.REST(beta, "GET", "/v1/messages?limit=100", nil); strings.Count(string(a.Body), "read before") != 20 {
		t.Fatalf("got %s, want 20 messages", a)
	}
	for _, text := range []string{"new 1", "new 2", "new 3"} {
		send("beta", text)
	}
	for _, c := range []struct {
		path string
		want int
	}{
		{"/v1/messages?markAsRead=false", 3}, {"/v1/messages?markAsRead=false&limit=2", 2}, {"/v1/messages?limit=1", 1}, {"/v1/messages", 2}, {"/v1/messages", 0},
	} {
		m.hub.Settle()
		m.forget()
		if a := m.hub.REST(beta, "GET", c.path, nil); a.Status != 200 || strings.Count(string(a.Body), `"new `) != c.want {
			t.Errorf("%s: got %s, want %d messages", c.path, a, c.want)
		}
		read := slices.DeleteFunc(m.documents(), func(name string) bool { return !strings.Contains(name, "/relay/") })
		if len(read) != c.want {
			t.Errorf("%s read %d messages, want %d", c.path, len(read), c.want)
		}
	}
}
