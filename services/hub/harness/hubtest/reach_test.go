package hubtest_test

import "strings"

// marker is in every text that the first user writes.
const marker = "ONLYMINE"

// belongings are the ids of what a user has.
type belongings struct {
	created, active, dream, alert, message, question, session, group, sprint, team, key, mark, device, council, fire, verification, process                    string
	taskCursor, historyCursor, deadCursor, sessionCursor, groupCursor, keyCursor, questionCursor, deviceCursor, councilCursor, verificationCursor, inboxCursor string
}

// nothings are ids in the same form of what never was.
func nothings(keyID string) belongings {
	const cursor = "bm90aGluZw"
	return belongings{created: "01990000-0000-7000-8000-000000000001", active: "01990000-0000-7000-8000-000000000002",
		message: "01990000-0000-7000-8000-000000000003", question: "01990000-0000-7000-8000-000000000004",
		dream: "01990000-0000-7000-8000-000000000005", alert: "01990000-0000-7000-8000-000000000006", session: "01990000-0000-7000-8000-000000000007",
		sprint: "01990000-0000-7000-8000-000000000008", group: "some-group", team: "some-team", key: strings.Repeat("0", len(keyID)), mark: cursor,
		taskCursor: cursor, historyCursor: cursor, deadCursor: cursor, sessionCursor: cursor, groupCursor: cursor, keyCursor: cursor, questionCursor: cursor, deviceCursor: cursor, councilCursor: cursor, verificationCursor: cursor, inboxCursor: cursor,
		council: "01990000-0000-7000-8000-000000000010", fire: "some-fire", verification: "2026-01-01_some-target_zzzzzz",
		process: "01990000-0000-7000-8000-000000000011", device: strings.Repeat("0", 32)}
}

// reach is how a stranger tries to reach what another user has, by operation. An
// empty list is of an operation that takes nothing of another's.
var reach = map[string]func(b belongings) []args{
	"get_tasks": func(b belongings) []args {
		return []args{{"status": "all", "limit": 50}, {"target": "alpha", "status": "all"}, {"status": "all", "limit": 1, "cursor": b.taskCursor}}
	},
	"get_task": func(b belongings) []args {
		return []args{{"taskId": b.created}, {"taskId": b.active}, {"taskId": b.question}, {"taskId": b.alert}, {"taskId": b.sprint}, {"taskId": b.sprint + ".a"}}
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
	"update_task": func(b belongings) []args {
		return []args{{"taskId": b.created, "note": "n"}, {"taskId": b.active, "status": "blocked", "claimToken": 1}, {"taskId": b.alert, "status": "done"}}
	},
	"send_message": func(belongings) []args {
		return []args{{"message": "m", "source": "alpha", "target": "alpha", "message_type": "PING", "idempotencyKey": "theirs"}}
	},
	"get_messages": func(b belongings) []args {
		return []args{{}, {"includeDelivered": true}, {"threadId": "th"}, {"includeDelivered": true, "limit": 1, "cursor": b.historyCursor}}
	},
	"ack_messages":     func(b belongings) []args { return []args{{"messageIds": []string{b.message}}} },
	"get_dead_letters": func(b belongings) []args { return []args{{}, {"limit": 1, "cursor": b.deadCursor}} },
	"set_group": func(b belongings) []args {
		return []args{{"name": b.group, "members": []string{"beta"}}, {"name": b.group, "members": []string{}}}
	},
	"list_groups": func(b belongings) []args { return []args{{}, {"limit": 1, "cursor": b.groupCursor}} },
	"create_session": func(b belongings) []args {
		return []args{{"name": "n", "sessionId": b.session}, {"name": "n", "idempotencyKey": "theirs"}}
	},
	"update_session": func(b belongings) []args {
		return []args{{"sessionId": b.session, "state": "complete"}, {"sessionId": b.session, "lastHeartbeat": true}}
	},
	"list_sessions": func(b belongings) []args {
		return []args{{}, {"programId": "alpha", "state": "working", "includeArchived": true}, {"limit": 1, "cursor": b.sessionCursor}}
	},
	"get_overview": func(b belongings) []args { return []args{{}, {"since": b.mark, "waitMs": 1}} },
	"send_alert":   func(belongings) []args { return []args{{"message": "m", "idempotencyKey": "theirs"}} },
	"dream_peek":   func(belongings) []args { return []args{{}, {"target": "alpha", "limit": 50}} },
	"dream_activate": func(b belongings) []args {
		return []args{{"dreamId": b.dream}, {"dreamId": b.dream, "sessionId": "alpha.1"}, {"dreamId": b.created}}
	},
	"create_sprint": func(belongings) []args {
		return []args{{"projectName": "p", "branch": "b", "stories": []any{args{"id": "a", "title": "t"}}, "idempotencyKey": "theirs"}}
	},
	"update_sprint_story": func(b belongings) []args {
		return []args{{"sprintId": b.sprint, "storyId": "a", "status": "active"}, {"sprintId": b.sprint, "storyId": "a", "status": "skipped"}, {"sprintId": b.sprint, "storyId": "a", "progress": 1}}
	},
	"add_story_to_sprint": func(b belongings) []args {
		return []args{{"sprintId": b.sprint, "story": args{"id": "c", "title": "t", "dependencies": []string{"a"}}}, {"sprintId": b.sprint, "story": args{"id": "a", "title": "t"}}}
	},
	"get_sprint":      func(b belongings) []args { return []args{{"sprintId": b.sprint}, {"sprintId": b.created}} },
	"complete_sprint": func(b belongings) []args { return []args{{"sprintId": b.sprint, "summary": args{"completed": 2}}} },
	"get_usage":       func(belongings) []args { return []args{{}, {"groupBy": "program"}, {"groupBy": "day"}} },
	"ask_question":    func(belongings) []args { return []args{{"question": "q", "idempotencyKey": "theirs"}} },
	"get_response":    func(b belongings) []args { return []args{{"questionId": b.question}, {"questionId": b.created}} },
	"answer_question": func(b belongings) []args {
		return []args{{"questionId": b.question, "response": "no"}}
	},
	"list_questions": func(b belongings) []args {
		return []args{{"status": "all"}, {"status": "all", "limit": 1, "cursor": b.questionCursor}}
	},
	"register_device":           func(belongings) []args { return nil }, // below: a token that another has is free
	"list_devices":              func(b belongings) []args { return []args{{}, {"limit": 1, "cursor": b.deviceCursor}} },
	"delete_device":             func(b belongings) []args { return []args{{"deviceId": b.device}} },
	"get_notification_settings": func(belongings) []args { return []args{{}} },
	"set_notification_settings": func(belongings) []args { return []args{{"perHour": 7}} },
	"start_council": func(belongings) []args {
		return []args{{"agent_name": "alpha", "request": "r", "idempotencyKey": "theirs"}}
	},
	"join_council": func(b belongings) []args { return []args{{"agent_name": "alpha", "session_id": b.council}} },
	"get_current_session_data": func(b belongings) []args {
		return []args{{"agent_name": "alpha", "session_id": b.council}, {"agent_name": "alpha"}, {"agent_name": "alpha", "cursor": b.councilCursor}}
	},
	"send_response": func(b belongings) []args {
		return []args{{"agent_name": "alpha", "session_id": b.council, "content": "c"}}
	},
	"rank_responses": func(b belongings) []args {
		return []args{{"agent_name": "alpha", "session_id": b.council, "ranking": []string{"A"}}}
	},
	"close_council": func(b belongings) []args {
		return []args{{"agent_name": "alpha", "session_id": b.council, "conclusion": "c"}, {"agent_name": "alpha", "conclusion": "c"}}
	},
	"list_councils":               func(belongings) []args { return []args{{}} },
	"campfire_ping":               func(belongings) []args { return []args{} }, // it says the time
	"campfire_echo":               func(belongings) []args { return []args{{"message": "m"}} },
	"campfire_get_or_create_fire": func(b belongings) []args { return []args{{"fireId": b.fire}} },
	"campfire_post_message":       func(b belongings) []args { return []args{{"fireId": b.fire, "text": "t"}} },
	"campfire_speak_to_party":     func(b belongings) []args { return []args{{"fireId": b.fire, "text": "t"}} },
	"campfire_list_messages":      func(b belongings) []args { return []args{{"fireId": b.fire}} },
	"campfire_update_battle_plan": func(b belongings) []args { return []args{{"fireId": b.fire, "content": "c"}} },
	"campfire_throw_gauntlet": func(b belongings) []args {
		return []args{{"fireId": b.fire, "challenger_name": "alpha", "target_name": "beta", "thesis_of_attack": "t"}}
	},
	"campfire_take_oath_of_judgement": func(b belongings) []args { return []args{{"fireId": b.fire, "character_name": "alpha"}} },
	"campfire_strike_argument": func(b belongings) []args {
		return []args{{"fireId": b.fire, "character_name": "alpha", "technical_evidence": "e"}}
	},
	"campfire_hold_the_line": func(b belongings) []args {
		return []args{{"fireId": b.fire, "character_name": "alpha", "defense_rationale": "r", "surrender": true}}
	},
	"campfire_deliver_verdict": func(b belongings) []args {
		return []args{{"fireId": b.fire, "character_name": "alpha", "winner": "defender", "ruling_rationale": "r", "required_plan_mutation": "p"}}
	},
	"campfire_abandon_duel":  func(b belongings) []args { return []args{{"fireId": b.fire}} },
	"campfire_get_fire":      func(b belongings) []args { return []args{{"fireId": b.fire}, {"fireId": b.fire, "planVersion": 1}} },
	"campfire_list_duels":    func(b belongings) []args { return []args{{"fireId": b.fire}} },
	"elenchus_start_session": func(belongings) []args { return []args{} }, // each has an id of its own
	"elenchus_get_context": func(b belongings) []args {
		return []args{{"sessionId": b.verification}, {"sessionId": b.verification, "path": "a.ts"}}
	},
	"elenchus_submit_round": func(b belongings) []args {
		return []args{round(b.verification, "verifier"), round(b.verification, "critic")}
	},
	"elenchus_add_files": func(b belongings) []args {
		return []args{{"sessionId": b.verification, "files": []any{args{"path": "b.ts", "content": "c"}}}}
	},
	"elenchus_get_issues":    func(b belongings) []args { return []args{{"sessionId": b.verification}} },
	"elenchus_checkpoint":    func(b belongings) []args { return []args{{"sessionId": b.verification}} },
	"elenchus_rollback":      func(b belongings) []args { return []args{{"sessionId": b.verification, "toRound": 1}} },
	"elenchus_end_session":   func(b belongings) []args { return []args{{"sessionId": b.verification, "verdict": "FAIL"}} },
	"elenchus_list_sessions": func(b belongings) []args { return []args{{}, {"limit": 1, "cursor": b.verificationCursor}} },
	"team_create":            func(belongings) []args { return nil }, // below: a name that another took is free
	"team_read_config": func(b belongings) []args {
		return []args{{"team_name": b.team}}
	},
	"team_delete":         func(b belongings) []args { return []args{{"team_name": b.team}} },
	"team_spawn_teammate": func(b belongings) []args { return []args{{"team_name": b.team, "name": "zeta", "prompt": "p"}} },
	"team_force_kill_teammate": func(b belongings) []args {
		return []args{{"team_name": b.team, "agent_name": "delta"}, {"team_name": b.team, "agent_name": "nobody"}}
	},
	"team_process_shutdown_approved": func(b belongings) []args { return []args{{"team_name": b.team, "agent_name": "delta"}} },
	"team_heartbeat": func(b belongings) []args {
		return []args{{"team_name": b.team, "agent_name": "alpha"}, {"team_name": b.team, "agent_name": "delta", "state": "exited"}}
	},
	"team_send_message": func(b belongings) []args {
		return []args{{"team_name": b.team, "type": "message", "recipient": "delta", "summary": "s", "content": "c", "idempotencyKey": "theirs"},
			{"team_name": b.team, "type": "broadcast", "summary": "s", "content": "c"}, {"team_name": b.team, "type": "shutdown_request", "recipient": "delta"}}
	},
	"team_read_inbox": func(b belongings) []args {
		return []args{{"team_name": b.team, "agent_name": "team-lead"}, {"team_name": b.team, "agent_name": "delta", "mark_as_read": false},
			{"team_name": b.team, "agent_name": "team-lead", "limit": 1, "cursor": b.inboxCursor}}
	},
	"team_poll_inbox": func(b belongings) []args {
		return []args{{"team_name": b.team, "agent_name": "team-lead", "timeout_ms": 0}, {"team_name": b.team, "agent_name": "alpha", "timeout_ms": 0}}
	},
	"team_task_create": func(b belongings) []args {
		return []args{{"team_name": b.team, "subject": "s", "description": "d", "idempotencyKey": "theirs"}}
	},
	"team_task_update": func(b belongings) []args {
		return []args{{"team_name": b.team, "task_id": "1", "subject": "s"}, {"team_name": b.team, "task_id": "1", "status": "deleted"}, {"team_name": b.team, "task_id": "1", "owner": "alpha"}}
	},
	"team_task_list": func(b belongings) []args {
		return []args{{"team_name": b.team}, {"team_name": b.team, "owner": "delta", "status": "pending"}}
	},
	"team_task_get": func(b belongings) []args { return []args{{"team_name": b.team, "task_id": "1"}} },
	"team_list_processes": func(b belongings) []args {
		return []args{{"team_name": b.team}, {"team_name": b.team, "runner": "their-runner", "held": true}, {"team_name": b.team, "runner": "another", "wait_ms": 1}}
	},
	"team_claim_process": func(b belongings) []args {
		return []args{{"team_name": b.team, "process_id": b.process, "runner": "their-runner"}, {"team_name": b.team, "process_id": b.process, "runner": "another"}}
	},
	"team_report_process": func(b belongings) []args {
		return []args{{"team_name": b.team, "process_id": b.process, "runner": "their-runner", "state": "exited"}}
	},
	"create_key": func(belongings) []args { return nil },
	"list_keys":  func(b belongings) []args { return []args{{"limit": 100}, {"limit": 1, "cursor": b.keyCursor}} },
	"revoke_key": func(b belongings) []args { return []args{{"keyId": b.key}} },
}
