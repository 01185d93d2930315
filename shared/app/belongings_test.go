package app

import (
	"fmt"
	"time"

	"parley.internal/shared/identity"
)

// nobodys is an id that no document of anyone has.
const nobodys = "id-that-exists-nowhere"

// belongings are the ids of what a user made.
type belongings struct {
	task, claimed, dream, message, dead, question, alert, session, group, sprint, team, key, secret, thread, device, council, fire, verification, process string
}

func (w *world) settle(user string) belongings {
	w.t.Helper()
	agent, person := bound(user, "alpha"), human(user)
	text := func(c identity.Caller, name, field string, args map[string]any) string {
		w.t.Helper()
		return fmt.Sprint(w.must(c, name, args)[field])
	}
	b := belongings{thread: "thread-of-" + user}
	b.task = text(agent, "create_task", "taskId", map[string]any{"title": "a task", "target": "beta", "threadId": b.thread, "idempotencyKey": "the-same", "provenance": map[string]any{"model": "m"}})
	b.claimed = text(agent, "create_task", "taskId", map[string]any{"title": "claimed", "target": "alpha"})
	b.dream = text(agent, "create_task", "taskId", map[string]any{"title": "a dream", "target": "any", "type": "dream", "dream": map[string]any{"agent": "x"}})
	w.must(agent, "claim_task", map[string]any{"taskId": b.claimed, "sessionId": "s"})
	b.message = text(agent, "send_message", "messageId", map[string]any{"message": "a message", "source": "alpha", "target": "alpha", "message_type": "QUERY", "threadId": b.thread})
	b.dead = text(agent, "send_message", "messageId", map[string]any{"message": "a dead letter", "source": "alpha", "target": "gamma", "message_type": "STATUS", "ttl": 1})
	w.now = w.now.Add(2 * time.Second)
	w.must(bound(user, "gamma"), "get_messages", map[string]any{}) // it is buried by who comes too late for it
	b.question = text(agent, "ask_question", "questionId", map[string]any{"question": "a question?", "options": []string{"x"}, "threadId": b.thread})
	b.alert = text(agent, "send_alert", "alertId", map[string]any{"message": "an alert"})
	b.device = text(person, "register_device", "deviceId", map[string]any{"token": "a-token", "platform": "web", "name": "of " + user})
	w.must(person, "set_notification_settings", map[string]any{"off": []string{"dreams"}})
	b.council = text(agent, "start_council", "session_id", map[string]any{"agent_name": "alpha", "request": "a request"})
	w.must(bound(user, "beta"), "send_response", map[string]any{"agent_name": "beta", "session_id": b.council, "content": "a response"})
	b.fire = text(agent, "campfire_get_or_create_fire", "id", map[string]any{"fireId": "fire-of-" + user})
	w.must(agent, "campfire_post_message", map[string]any{"fireId": b.fire, "text": "a word"})
	w.must(agent, "campfire_throw_gauntlet", map[string]any{"fireId": b.fire, "challenger_name": "alpha", "target_name": "beta", "thesis_of_attack": "a thesis", "deadline_minutes": 1440})
	b.verification = text(agent, "elenchus_start_session", "sessionId", map[string]any{"target": "a.ts", "requirements": "r", "workingDir": "/w", "files": []any{map[string]any{"path": "a.ts", "content": "c"}}})
	b.session = text(agent, "create_session", "sessionId", map[string]any{"name": "a session"})
	b.group = text(agent, "set_group", "name", map[string]any{"name": "group-of-" + user, "members": []string{"alpha", "beta"}})
	b.sprint = text(agent, "create_sprint", "sprintId", map[string]any{"projectName": "a sprint", "branch": "b", "stories": []any{
		map[string]any{"id": "a", "title": "a story"}, map[string]any{"id": "b", "title": "another", "dependencies": []string{"a"}}}})
	w.team(&b, agent)
	key := w.must(person, "create_key", map[string]any{"program": "alpha", "scopes": []string{"read"}})
	b.key, b.secret = fmt.Sprint(key["id"]), fmt.Sprint(key["key"])
	w.flush()
	return b
}

// runner is the id of the one that holds a teammate's process.
const runner = "the-runner"

// team has a user lead a team of teammates to kill, to shut down and to keep. The last
// has a process that a runner holds, and a task.
func (w *world) team(b *belongings, lead identity.Caller) {
	w.t.Helper()
	b.team = "team-of-" + lead.User
	call := func(name string, args map[string]any) map[string]any {
		w.t.Helper()
		args["team_name"] = b.team
		return w.must(lead, name, args)
	}
	call("team_create", map[string]any{})
	for _, name := range []string{"beta", "gamma"} {
		call("team_spawn_teammate", map[string]any{"name": name, "prompt": "a prompt", "backend_type": "external"})
	}
	b.process = fmt.Sprint(call("team_spawn_teammate", map[string]any{"name": "delta", "prompt": "a prompt"})["process_id"])
	call("team_claim_process", map[string]any{"process_id": b.process, "runner": runner})
	call("team_task_create", map[string]any{"subject": "a subject", "description": "d", "metadata": map[string]any{"k": 1}, "idempotencyKey": "the-same"})
	call("team_task_update", map[string]any{"task_id": "1", "owner": "delta"})
	call("team_send_message", map[string]any{"type": "broadcast", "summary": "a summary", "content": "a broadcast"})
	w.must(bound(lead.User, "delta"), "team_send_message", map[string]any{"team_name": b.team, "type": "message", "recipient": "team-lead", "summary": "a summary", "content": "a message"})
}

// flush writes what was recorded of the calls so far.
func (w *world) flush() {
	w.t.Helper()
	if err := w.Ledger.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// reach is the id that an operation takes, and a call with an id.
type reach struct {
	id   func(belongings) string
	args func(id string) map[string]any
}

// reaches is every operation that takes the id of a document, with the id that
// is its owner's. An operation that is neither here nor among those that name or
// take none fails the walk.
var reaches = map[string]reach{
	"get_task":                        {func(b belongings) string { return b.task }, with("taskId")},
	"claim_task":                      {func(b belongings) string { return b.task }, with("taskId", "sessionId", "s")},
	"renew_claim":                     {func(b belongings) string { return b.claimed }, with("taskId", "claimToken", 1)},
	"release_task":                    {func(b belongings) string { return b.claimed }, with("taskId", "claimToken", 1)},
	"complete_task":                   {func(b belongings) string { return b.claimed }, with("taskId", "claimToken", 1, "result", "mine")},
	"update_task":                     {func(b belongings) string { return b.alert }, with("taskId", "status", "derezzed", "note", "mine")},
	"ack_messages":                    {func(b belongings) string { return b.message }, func(id string) map[string]any { return map[string]any{"messageIds": []string{id}} }},
	"update_session":                  {func(b belongings) string { return b.session }, with("sessionId", "state", "complete", "status", "mine")},
	"get_response":                    {func(b belongings) string { return b.question }, with("questionId", "waitMs", 1)},
	"answer_question":                 {func(b belongings) string { return b.question }, with("questionId", "response", "x")},
	"join_council":                    {func(b belongings) string { return b.council }, with("session_id", "agent_name", "alpha")},
	"get_current_session_data":        {func(b belongings) string { return b.council }, with("session_id", "agent_name", "alpha")},
	"send_response":                   {func(b belongings) string { return b.council }, with("session_id", "agent_name", "alpha", "content", "mine")},
	"rank_responses":                  {func(b belongings) string { return b.council }, with("session_id", "agent_name", "alpha", "ranking", []string{"A"})},
	"close_council":                   {func(b belongings) string { return b.council }, with("session_id", "agent_name", "alpha", "conclusion", "mine")},
	"campfire_post_message":           {func(b belongings) string { return b.fire }, with("fireId", "text", "mine")},
	"campfire_speak_to_party":         {func(b belongings) string { return b.fire }, with("fireId", "text", "mine")},
	"campfire_list_messages":          {func(b belongings) string { return b.fire }, with("fireId")},
	"campfire_update_battle_plan":     {func(b belongings) string { return b.fire }, with("fireId", "content", "mine")},
	"campfire_take_oath_of_judgement": {func(b belongings) string { return b.fire }, with("fireId", "character_name", "gamma")}, // as a human names them, in whatever order
	"campfire_strike_argument":        {func(b belongings) string { return b.fire }, with("fireId", "character_name", "alpha", "technical_evidence", "mine")},
	"campfire_hold_the_line":          {func(b belongings) string { return b.fire }, with("fireId", "character_name", "beta", "defense_rationale", "mine", "surrender", false)},
	"campfire_deliver_verdict":        {func(b belongings) string { return b.fire }, with("fireId", "character_name", "gamma", "winner", "defender", "ruling_rationale", "mine", "required_plan_mutation", "mine")},
	"campfire_abandon_duel":           {func(b belongings) string { return b.fire }, with("fireId")},
	"campfire_get_fire":               {func(b belongings) string { return b.fire }, with("fireId")},
	"campfire_list_duels":             {func(b belongings) string { return b.fire }, with("fireId")},
	"elenchus_get_context":            {func(b belongings) string { return b.verification }, with("sessionId")},
	"elenchus_submit_round":           {func(b belongings) string { return b.verification }, with("sessionId", "role", "verifier", "output", "mine")},
	"elenchus_add_files":              {func(b belongings) string { return b.verification }, with("sessionId", "files", []any{map[string]any{"path": "b.ts", "content": "mine"}})},
	"elenchus_get_issues":             {func(b belongings) string { return b.verification }, with("sessionId")},
	"elenchus_checkpoint":             {func(b belongings) string { return b.verification }, with("sessionId")},
	"elenchus_rollback":               {func(b belongings) string { return b.verification }, with("sessionId", "toRound", 2)},
	"elenchus_end_session":            {func(b belongings) string { return b.verification }, with("sessionId", "verdict", "FAIL")},
	"delete_device":                   {func(b belongings) string { return b.device }, with("deviceId")},
	"dream_activate":                  {func(b belongings) string { return b.dream }, with("dreamId", "sessionId", "s")},
	"update_sprint_story":             {func(b belongings) string { return b.sprint }, with("sprintId", "storyId", "a", "status", "active", "progress", 1)},
	"add_story_to_sprint":             {func(b belongings) string { return b.sprint }, with("sprintId", "story", map[string]any{"id": "c", "title": "mine", "dependencies": []string{"b"}})},
	"get_sprint":                      {func(b belongings) string { return b.sprint }, with("sprintId")},
	"complete_sprint":                 {func(b belongings) string { return b.sprint }, with("sprintId")},
	"team_delete":                     {func(b belongings) string { return b.team }, with("team_name")},
	"team_read_config":                {func(b belongings) string { return b.team }, with("team_name")},
	"team_spawn_teammate":             {func(b belongings) string { return b.team }, with("team_name", "name", "epsilon", "prompt", "mine")},
	"team_force_kill_teammate":        {func(b belongings) string { return b.team }, with("team_name", "agent_name", "beta")},
	"team_process_shutdown_approved":  {func(b belongings) string { return b.team }, with("team_name", "agent_name", "gamma")},
	"team_heartbeat":                  {func(b belongings) string { return b.team }, with("team_name", "agent_name", "delta", "pid", 7)}, // a human speaks for everyone
	"team_send_message":               {func(b belongings) string { return b.team }, with("team_name", "type", "message", "recipient", "delta", "summary", "mine", "content", "mine")},
	"team_read_inbox":                 {func(b belongings) string { return b.team }, with("team_name", "agent_name", "team-lead")},
	"team_poll_inbox":                 {func(b belongings) string { return b.team }, with("team_name", "agent_name", "team-lead", "timeout_ms", 0)},
	"team_task_create":                {func(b belongings) string { return b.team }, with("team_name", "subject", "mine", "description", "mine")},
	"team_task_update":                {func(b belongings) string { return b.team }, with("team_name", "task_id", "1", "owner", "beta", "subject", "mine")},
	"team_task_list":                  {func(b belongings) string { return b.team }, with("team_name")},
	"team_task_get":                   {func(b belongings) string { return b.team }, with("team_name", "task_id", "1")},
	"team_list_processes":             {func(b belongings) string { return b.team }, with("team_name")},
	"team_claim_process":              {func(b belongings) string { return b.process }, with("process_id", "team_name", "team-of-user-a", "runner", runner)},
	"team_report_process":             {func(b belongings) string { return b.process }, with("process_id", "team_name", "team-of-user-a", "runner", runner, "state", "running", "pid", 7)},
	"revoke_key":                      {func(b belongings) string { return b.key }, with("keyId")},
}

// names is every operation that takes an id which its caller makes up: to another
// user it is as free as one that nobody has taken.
var names = map[string]reach{
	"create_session":              {func(b belongings) string { return b.session }, with("sessionId", "name", "mine")},
	"campfire_get_or_create_fire": {func(b belongings) string { return b.fire }, with("fireId")},
	"campfire_throw_gauntlet":     {func(b belongings) string { return b.fire }, with("fireId", "challenger_name", "alpha", "target_name", "beta", "thesis_of_attack", "mine")},
	"set_group":                   {func(b belongings) string { return b.group }, with("name", "members", []string{"gamma"})},
}

// takesNone are the operations without the id of a document.
var takesNone = []string{"create_task", "get_tasks", "send_message", "get_messages", "get_dead_letters", "list_groups", "list_sessions", "get_overview",
	"ask_question", "list_questions", "send_alert", "register_device", "list_devices", "get_notification_settings", "set_notification_settings",
	"start_council", "list_councils", "campfire_ping", "campfire_echo", "elenchus_start_session", "elenchus_list_sessions", "dream_peek", "create_sprint", "get_usage", "team_create", "create_key", "list_keys"}

func with(field string, more ...any) func(string) map[string]any {
	return func(id string) map[string]any {
		args := map[string]any{field: id}
		for i := 0; i < len(more); i += 2 {
			args[fmt.Sprint(more[i])] = more[i+1]
		}
		return args
	}
}
