package hubtest_test

import "strings"

// bad is input that is refused: where it is wrong, and words that say what is allowed.
type bad struct {
	name, op string
	// in is the JSON of the input, in which %T is a task that is there, %S a session,
	// %P a sprint with the stories a and b, and %C a cursor of get_tasks.
	in    string
	path  string
	words string
}

// badBoth is refused alike over both transports. On a route with a path, REST's
// path is made of the same input.
var badBoth = []bad{
	{"an unknown field", "create_task", `{"title":"t","target":"a","titel":"t"}`, "titel", "the fields are idempotencyKey, title, target"},
	{"an unknown field inside", "create_task", `{"title":"t","target":"a","provenance":{"modle":"m"}}`, "provenance.modle", "the fields are model, cost_tokens, confidence"},
	{"an unknown field of a read", "get_tasks", `{"stauts":"done"}`, "stauts", "the fields are status"},
	{"a missing field", "create_task", `{"title":"t"}`, "target", "is required"},
	{"an empty field", "create_task", `{"title":"","target":"a"}`, "title", "must not be empty"},
	{"a null that is required", "create_task", `{"title":null,"target":"a"}`, "title", "must be of type string, not null"},
	{"a wrong type", "create_task", `{"title":{"a":1},"target":"a"}`, "title", "must be of type string, not object"},
	{"a wrong type inside", "create_task", `{"title":"t","target":"a","provenance":{"confidence":"high"}}`, "provenance.confidence", "must be of type number, not string"},
	{"a wrong type in a list", "ack_messages", `{"messageIds":["ok",["x"]]}`, "messageIds[1]", "must be of type string, not array"},
	{"a fraction", "create_task", `{"title":"t","target":"a","ttl":1.5}`, "ttl", "must be of type integer"},
	{"a number past all numbers", "create_task", `{"title":"t","target":"a","ttl":1e400}`, "ttl", "must be at most 31536000"},
	{"a negative limit", "get_tasks", `{"limit":-1}`, "limit", "must be at least 1"},
	{"a limit of none", "get_messages", `{"limit":0}`, "limit", "must be at least 1"},
	{"a limit past all limits", "get_messages", `{"limit":101}`, "limit", "must be at most 100"},
	{"a negative wait", "get_messages", `{"waitMs":-1}`, "waitMs", "must be at least 0"},
	{"a word that is none of them", "get_tasks", `{"status":"open"}`, "status", "must be one of created, active, blocked, completing, done, failed, derezzed, all"},
	{"a text too long", "create_task", `{"title":"` + strings.Repeat("é", 201) + `","target":"a"}`, "title", "must be at most 200 characters, not 201"},
	{"a list too long", "ack_messages", `{"messageIds":["` + strings.Repeat(`x","`, 100) + `x"]}`, "messageIds", "must have at most 100 members, not 101"},
	{"half a character", "create_task", `{"title":"\ud800","target":"a"}`, "title", "must be valid UTF-8 text"},
	{"the other half of a character", "create_task", `{"title":"t","target":"a","provenance":{"model":"x\udfffx"}}`, "provenance.model", "must be valid UTF-8 text"},
	{"halves in the wrong order", "ack_messages", `{"messageIds":["ok","\udfff\ud800"]}`, "messageIds[1]", "must be valid UTF-8 text"},
	{"bytes that are no text", "create_task", "{\"title\":\"a\xffb\",\"target\":\"a\"}", "title", "must be valid UTF-8 text"},
	{"bytes that are no text, inside", "create_task", "{\"title\":\"t\",\"target\":\"a\",\"provenance\":{\"model\":\"\xc3\x28\"}}", "provenance.model", "must be valid UTF-8 text"},
	{"an encoded surrogate", "send_message", "{\"message\":\"\xed\xa0\x80\",\"source\":\"alpha\",\"target\":\"a\",\"message_type\":\"PING\"}", "message", "must be valid UTF-8 text"},
	{"an id with a slash", "get_task", `{"taskId":"a/b"}`, "taskId", "must match ^[A-Za-z0-9]"},
	{"an id of dots", "get_task", `{"taskId":".."}`, "taskId", "must match ^[A-Za-z0-9]"},
	{"an id of Firestore's own", "get_task", `{"taskId":"__x__"}`, "taskId", "must match ^[A-Za-z0-9]"},
	{"an id too long", "claim_task", `{"taskId":"` + strings.Repeat("x", 101) + `"}`, "taskId", "must be at most 100 characters, not 101"},
	{"an id with a space", "renew_claim", `{"taskId":"a b","claimToken":1}`, "taskId", "must match ^[A-Za-z0-9]"},
	{"an id that is a list", "ack_messages", `{"messageIds":["a\u0000"]}`, "messageIds[0]", "must match ^[A-Za-z0-9]"},
	{"a token of none", "release_task", `{"taskId":"%T","claimToken":0}`, "claimToken", "must be at least 1"},
	{"a token that is a text", "complete_task", `{"taskId":"%T","claimToken":"first"}`, "claimToken", "must be of type integer, not string"},
	{"a gain", "complete_task", `{"taskId":"%T","cost_usd":-0.01}`, "cost_usd", "must be at least 0"},
	{"six options", "ask_question", `{"question":"q","options":["1","2","3","4","5","6"]}`, "options", "must have at most 5 members, not 6"},
	{"a wait past all waits", "get_response", `{"questionId":"%T","waitMs":55001}`, "waitMs", "must be at most 55000"},
	{"a team's description that is none", "team_create", `{"team_name":"a","description":{"a":1}}`, "description", "must be of type string, not object"},
	{"a team's name past all names", "team_read_config", `{"team_name":"` + strings.Repeat("x", 1001) + `"}`, "team_name", "must be at most 1000 characters, not 1001"},
	{"a team's name past all names, to delete", "team_delete", `{"team_name":"` + strings.Repeat("x", 1001) + `"}`, "team_name", "must be at most 1000 characters, not 1001"},
	{"a key that is nobody's", "create_key", `{"kind":"robot"}`, "kind", "must be one of agent, human"},
	{"too many keys", "list_keys", `{"limit":101}`, "limit", "must be at most 100"},
	{"a key's id with a slash", "revoke_key", `{"keyId":"a/b"}`, "keyId", "must match ^[A-Za-z0-9]"},
	{"no cursor", "get_tasks", `{"cursor":"xyz"}`, "cursor", "use the one that came with the page before"},
	{"a cursor of other filters", "get_tasks", `{"cursor":"%C","status":"done"}`, "cursor", "use the one that came with the page before"},
	{"a cursor of another call", "get_messages", `{"cursor":"%C","includeDelivered":true}`, "cursor", "use the one that came with the page before"},
	{"no news", "update_task", `{"taskId":"%T"}`, "status", "give a status, a note or both"},
	{"a status that is none of them", "update_task", `{"taskId":"%T","status":"finished"}`, "status", "must be one of created, active, blocked, completing, done, failed, derezzed"},
	{"a note too long", "update_task", `{"taskId":"%T","note":"` + strings.Repeat("é", 2001) + `"}`, "note", "must be at most 2000 characters, not 2001"},
	{"a note that is a list", "update_task", `{"taskId":"%T","note":["n"]}`, "note", "must be of type string, not array"},

	{"a session without a name", "create_session", `{"status":"s"}`, "name", "is required"},
	{"a session's id with a slash", "create_session", `{"name":"n","sessionId":"a/b"}`, "sessionId", "must match ^[A-Za-z0-9]"},
	{"a session's program too long", "create_session", `{"name":"n","programId":"` + strings.Repeat("x", 51) + `"}`, "programId", "must be at most 50 characters, not 51"},
	{"a state that is none of them", "create_session", `{"name":"n","state":"asleep"}`, "state", "must be one of working, blocked, complete, pinned"},
	{"a state that is for lists", "update_session", `{"sessionId":"%S","state":"all"}`, "state", "must be one of working, blocked, complete, pinned"},
	{"a progress past the end", "update_session", `{"sessionId":"%S","progress":101}`, "progress", "must be at most 100"},
	{"half a percent", "update_session", `{"sessionId":"%S","progress":0.5}`, "progress", "must be of type integer"},
	{"a heartbeat that is a time", "update_session", `{"sessionId":"%S","lastHeartbeat":"2026-03-01T12:00:00Z"}`, "lastHeartbeat", "must be of type boolean, not string"},
	{"a status too long", "update_session", `{"sessionId":"%S","status":"` + strings.Repeat("é", 201) + `"}`, "status", "must be at most 200 characters, not 201"},
	{"a list of sessions too long", "list_sessions", `{"limit":51}`, "limit", "must be at most 50"},
	{"a session's cursor of another call", "list_sessions", `{"cursor":"%C"}`, "cursor", "use the one that came with the page before"},

	{"no members", "set_group", `{"name":"crew"}`, "members", "is required"},
	{"a member that is no program", "set_group", `{"name":"crew","members":["ok","not ok"]}`, "members[1]", "must match ^[A-Za-z0-9]"},
	{"a member too long", "set_group", `{"name":"crew","members":["` + strings.Repeat("x", 101) + `"]}`, "members[0]", "must be at most 100 characters, not 101"},
	{"too many members", "set_group", `{"name":"crew","members":["` + strings.Repeat(`x","`, 100) + `x"]}`, "members", "must have at most 100 members, not 101"},
	{"a group's name with a colon", "set_group", `{"name":"group:crew","members":["x"]}`, "name", "must match ^[A-Za-z0-9]"},
	{"a group's cursor of another call", "list_groups", `{"cursor":"%C"}`, "cursor", "use the one that came with the page before"},
	{"no dead letters", "get_dead_letters", `{"limit":0}`, "limit", "must be at least 1"},
	{"a dead letter's cursor of another call", "get_dead_letters", `{"cursor":"%C"}`, "cursor", "use the one that came with the page before"},

	{"an empty alert", "send_alert", `{"message":""}`, "message", "must not be empty"},
	{"an alert of no type", "send_alert", `{"message":"m","alertType":"doom"}`, "alertType", "must be one of error, warning, success, info"},
	{"an alert for no time", "send_alert", `{"message":"m","ttl":0}`, "ttl", "must be more than 0"},
	{"an answer that is empty", "answer_question", `{"questionId":"%T","response":""}`, "response", "must not be empty"},
	{"questions of no status", "list_questions", `{"status":"open"}`, "status", "must be one of pending, answered, expired, all"},
	{"an overview in the past", "get_overview", `{"waitMs":-1}`, "waitMs", "must be at least 0"},

	{"too many dreams", "dream_peek", `{"limit":51}`, "limit", "must be at most 50"},
	{"a dream's id of dots", "dream_activate", `{"dreamId":".."}`, "dreamId", "must match ^[A-Za-z0-9]"},
	{"a dream's length", "create_task", `{"title":"t","target":"a","type":"dream","dream":{"timeout_hours":169}}`, "dream.timeout_hours", "must be at most 168"},
	{"a dream that is none", "create_task", `{"title":"t","target":"a","dream":{}}`, "dream", "goes with type dream alone"},

	{"a sprint of nothing", "create_sprint", `{"projectName":"p","branch":"b","stories":[]}`, "stories", "must not be empty"},
	{"a sprint too large", "create_sprint", `{"projectName":"p","branch":"b","stories":[` + strings.Repeat(`{"id":"x","title":"t"},`, 200) + `{"id":"x","title":"t"}]}`, "stories", "must have at most 200 members, not 201"},
	{"a story without a title", "create_sprint", planOf(`{"id":"a"}`), "stories[0].title", "is required"},
	{"a story with an unknown field", "create_sprint", planOf(`{"id":"a","title":"t","titel":"t"}`), "stories[0].titel", "the fields are id, title, dependencies"},
	{"a story's id with a slash", "create_sprint", planOf(`{"id":"a","title":"t"},{"id":"a/b","title":"t"}`), "stories[1].id", "must match ^[A-Za-z0-9]"},
	{"two stories of one id", "create_sprint", planOf(`{"id":"a","title":"t"},{"id":"a","title":"u"}`), "stories[1].id", `"a" is the id of stories[0] already`},
	{"an unknown dependency", "create_sprint", planOf(`{"id":"a","title":"t","dependencies":["b"]}`), "stories[0].dependencies[0]", `there is no story "b" in this plan`},
	{"a cycle", "create_sprint", planOf(`{"id":"a","title":"t","dependencies":["c"]},{"id":"b","title":"t","dependencies":["a"]},{"id":"c","title":"t","dependencies":["b"]}`),
		"stories[0].dependencies[0]", "cycle: a → c → b → a"},
	{"a story that waits for a later wave", "create_sprint", planOf(`{"id":"a","title":"t","wave":1,"dependencies":["b"]},{"id":"b","title":"t","wave":2}`), "stories[0].dependencies[0]", `"b" is in wave 2`},
	{"a wave before all", "create_sprint", planOf(`{"id":"a","title":"t","wave":-1}`), "stories[0].wave", "must be at least 0"},
	{"too many retries", "create_sprint", planOf(`{"id":"a","title":"t","maxRetries":6}`), "stories[0].maxRetries", "must be at most 5"},
	{"a policy that is none of them", "create_sprint", planOf(`{"id":"a","title":"t","retryPolicy":"always"}`), "stories[0].retryPolicy", "must be one of none, auto_retry, escalate"},
	{"a setting of nobody's", "create_sprint", `{"projectName":"p","branch":"b","stories":[{"id":"a","title":"t"}],"config":{"maxConcurrent":0}}`, "config.maxConcurrent", "must be at least 1"},
	{"a story's status that is a task's", "update_sprint_story", `{"sprintId":"%P","storyId":"a","status":"done"}`, "status", "must be one of queued, active, complete, failed, skipped"},
	{"a story's progress past the end", "update_sprint_story", `{"sprintId":"%P","storyId":"a","progress":101}`, "progress", "must be at most 100"},
	{"a story's id of dots", "update_sprint_story", `{"sprintId":"%P","storyId":".."}`, "storyId", "must match ^[A-Za-z0-9]"},
	{"an action too long", "update_sprint_story", `{"sprintId":"%P","storyId":"a","currentAction":"` + strings.Repeat("é", 201) + `"}`, "currentAction", "must be at most 200 characters, not 201"},
	{"a story that is a text", "add_story_to_sprint", `{"sprintId":"%P","story":"c"}`, "story", "must be of type object, not string"},
	{"no story", "add_story_to_sprint", `{"sprintId":"%P"}`, "story", "is required"},
	{"a story with a wave of its own", "add_story_to_sprint", `{"sprintId":"%P","story":{"id":"c","title":"t","wave":1}}`, "story.wave", "the fields are id, title, dependencies"},
	{"a story that waits for itself", "add_story_to_sprint", `{"sprintId":"%P","story":{"id":"c","title":"t","dependencies":["a","c"]}}`, "story.dependencies[1]", `"c" cannot depend on itself`},
	{"a story that waits for nobody's", "add_story_to_sprint", `{"sprintId":"%P","story":{"id":"c","title":"t","dependencies":["a","x"]}}`, "story.dependencies[1]", `there is no story "x" in this sprint`},
	{"a place that is none of them", "add_story_to_sprint", `{"sprintId":"%P","story":{"id":"c","title":"t"},"insertionMode":"first"}`, "insertionMode", "must be one of current_wave, next_wave, backlog"},
	{"a sprint's id with a space", "get_sprint", `{"sprintId":"a b"}`, "sprintId", "must match ^[A-Za-z0-9]"},
	{"fewer than no stories", "complete_sprint", `{"sprintId":"%P","summary":{"skipped":-1}}`, "summary.skipped", "must be at least 0"},
	{"an unknown sum", "complete_sprint", `{"sprintId":"%P","summary":{"done":1}}`, "summary.done", "the fields are completed, failed, skipped, duration"},

	{"usage by what is no group", "get_usage", `{"groupBy":"user"}`, "groupBy", "must be one of tool, program, day, transport"},
	{"a day that is none", "get_usage", `{"from":"yesterday"}`, "from", "must be a date as 2026-11-01 or a time"},
	{"a month that is none", "get_usage", `{"to":"2026-13-01"}`, "to", "must be a date as 2026-11-01 or a time"},
	{"days in the wrong order", "get_usage", `{"from":"2026-03-02","to":"2026-03-01"}`, "from", "must not be after to, which is 2026-03-01"},
	{"more than a year", "get_usage", `{"from":"2024-01-01","to":"2026-03-01"}`, "from", "must be less than 366 days before to"},
	{"a cursor of an inbox", "get_messages", `{"cursor":"%C"}`, "cursor", "goes with includeDelivered alone"},
}

// planOf is the input of a sprint with these stories.
func planOf(stories string) string {
	return `{"projectName":"p","branch":"b","stories":[` + stories + `]}`
}
