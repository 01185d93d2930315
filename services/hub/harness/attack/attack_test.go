package attack

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

func TestAttackAGuessedTokenGivesNoRightToAClaim(t *testing.T) {
	each(t, func(s *scene) {
		id := s.ok(s.human, "create_task", args{"title": "t", "target": "alpha"})["taskId"]
		s.ok(s.alpha, "claim_task", args{"taskId": id, "sessionId": "alpha.1"})
		for _, thief := range []string{s.beta, s.loose} {
			s.refused(fault.Forbidden, thief, "complete_task", args{"taskId": id, "claimToken": 1})
			s.refused(fault.Forbidden, thief, "complete_task", args{"taskId": id, "claimToken": 1, "outcome": "failed"})
			s.refused(fault.Forbidden, thief, "renew_claim", args{"taskId": id, "claimToken": 1})
			s.refused(fault.Forbidden, thief, "release_task", args{"taskId": id, "claimToken": 1})
			s.refused(fault.Forbidden, thief, "update_task", args{"taskId": id, "claimToken": 1, "note": "mine"})
			s.refused(fault.Forbidden, thief, "update_task", args{"taskId": id, "claimToken": 1, "status": "derezzed"})
			s.refused(fault.Forbidden, thief, "complete_task", args{"taskId": id, "sessionId": "alpha.1"})
		}
		if got := s.ok(s.alpha, "get_task", args{"taskId": id}); got["claimedBy"] != "alpha" || got["status"] != "active" {
			s.Errorf("the task is %v", got)
		}
		s.ok(s.alpha, "complete_task", args{"taskId": id})
	})
}

func TestAttackAnUnboundKeyDoesNotContinueWhatAnotherBegan(t *testing.T) {
	each(t, func(s *scene) {
		id := s.ok(s.human, "create_task", args{"title": "t", "target": "any"})["taskId"]
		token := s.ok(s.loose, "claim_task", args{"taskId": id})["claimToken"]
		s.refused(fault.Forbidden, s.drift, "complete_task", args{"taskId": id, "claimToken": token})
		s.refused(fault.Invalid, s.loose, "complete_task", args{"taskId": id})
		s.ok(s.loose, "complete_task", args{"taskId": id, "claimToken": token})
	})
}

func TestAttackAnUnboundKeyDoesNotActUnderTheNameOfABoundOne(t *testing.T) {
	each(t, func(s *scene) {
		id := s.ok(s.human, "create_task", args{"title": "t", "target": "alpha"})["taskId"]
		s.ok(s.human, "send_message", args{"message": "m", "source": "me", "target": "alpha", "message_type": "STATUS"})
		for _, name := range []string{"alpha", "ALPHA"} {
			s.refused(fault.Forbidden, s.loose, "create_task", args{"title": "t", "target": "beta", "source": name})
			s.refused(fault.Forbidden, s.loose, "send_message", args{"message": "m", "source": name, "target": "beta",
				"message_type": "STATUS"})
			s.refused(fault.Forbidden, s.loose, "get_messages", args{"target": name, "markAsRead": false})
			s.refused(fault.Forbidden, s.loose, "create_session", args{"name": "n", "programId": name})
		}
		s.refused(fault.Forbidden, s.loose, "get_messages", args{"sessionId": "alpha.1"})
		s.refused(fault.Forbidden, s.loose, "claim_task", args{"taskId": id})
		if got := s.ok(s.alpha, "get_messages", args{})["messages"].([]any); len(got) != 1 {
			s.Errorf("alpha has %d messages left, want 1", len(got))
		}
	})
}

func TestAttackATeamIsItsLeadsAndMembers(t *testing.T) {
	each(t, func(s *scene) {
		s.ok(s.alpha, "team_create", args{"team_name": "crew"})
		spawn := func(name string) args {
			return args{"team_name": "crew", "name": name, "prompt": "work", "subagent_type": "worker", "backend_type": "process"}
		}
		s.ok(s.alpha, "team_spawn_teammate", spawn("worker"))
		for _, outsider := range []string{s.beta, s.loose} {
			s.refused(fault.Forbidden, outsider, "team_spawn_teammate", spawn("mole"))
			s.refused(fault.Forbidden, outsider, "team_force_kill_teammate", args{"team_name": "crew", "agent_name": "worker"})
			s.refused(fault.Forbidden, outsider, "team_delete", args{"team_name": "crew"})
			s.refused(fault.Forbidden, outsider, "team_task_create", args{"team_name": "crew", "subject": "s",
				"description": "d"})
			s.refused(fault.Forbidden, outsider, "team_read_inbox", args{"team_name": "crew", "agent_name": "worker"})
			s.refused(fault.Forbidden, outsider, "team_list_processes", args{"team_name": "crew", "runner": "r"})
		}
		runner := s.ok(s.human, "create_key", args{"scopes": []string{"runner"}, "team": "crew"})["key"].(string)
		found := s.ok(runner, "team_list_processes", args{"team_name": "crew", "runner": "r"})["processes"].([]any)
		id := found[0].(args)["process_id"]
		s.refused(fault.Forbidden, s.beta, "team_claim_process", args{"team_name": "crew", "process_id": id, "runner": "r"})
		claimed := s.ok(runner, "team_claim_process", args{"team_name": "crew", "process_id": id, "runner": "r"})
		member := claimed["key"].(string)
		s.ok(member, "team_read_inbox", args{"team_name": "crew", "agent_name": "worker"})
		s.refused(fault.Forbidden, member, "team_spawn_teammate", spawn("mole"))
		s.refused(fault.Forbidden, runner, "get_tasks", args{})
		s.refused(fault.Forbidden, runner, "create_key", args{})
		s.ok(runner, "team_report_process", args{"team_name": "crew", "process_id": id, "runner": "r", "state": "exited",
			"exit_code": 0})
		if a := s.hub.REST(member, "GET", "/v1/me", nil); a.Status != 401 {
			s.Errorf("the key of a member whose process has ended gets %v", a)
		}
	})
}

func TestAttackAVerificationEndsForItsStarter(t *testing.T) {
	each(t, func(s *scene) {
		id := s.ok(s.alpha, "elenchus_start_session", args{"target": "a.go", "requirements": "r", "workingDir": "/w",
			"files": []args{{"path": "a.go", "content": "package a"}}})["sessionId"]
		for _, other := range []string{s.beta, s.loose} {
			s.refused(fault.Forbidden, other, "elenchus_end_session", args{"sessionId": id, "verdict": "PASS"})
			s.refused(fault.Forbidden, other, "elenchus_rollback", args{"sessionId": id, "toRound": 0})
		}
		s.ok(s.beta, "elenchus_submit_round", args{"sessionId": id, "role": "verifier", "output": "fine"})
		s.refused(fault.Forbidden, s.loose, "elenchus_submit_round", args{"sessionId": id, "role": "verifier",
			"output": "again"})
		s.ok(s.loose, "elenchus_submit_round", args{"sessionId": id, "role": "critic", "output": "hm",
			"issuesRaised": []args{{"id": "COR-01", "severity": "HIGH", "summary": "s", "location": "a.go:1",
				"description": "d", "evidence": "e"}}})
		s.refused(fault.Forbidden, s.drift, "elenchus_submit_round", args{"sessionId": id, "role": "verifier", "output": "x"})
		s.ok(s.alpha, "elenchus_submit_round", args{"sessionId": id, "role": "verifier", "output": "the starter may"})
		s.ok(s.human, "elenchus_end_session", args{"sessionId": id, "verdict": "PASS"})
	})
}

func TestAttackACouncilClosesForItsStarter(t *testing.T) {
	each(t, func(s *scene) {
		id := s.ok(s.alpha, "start_council", args{"request": "which?"})["session_id"]
		s.ok(s.beta, "join_council", args{"session_id": id})
		s.refused(fault.Forbidden, s.beta, "close_council", args{"session_id": id, "conclusion": "mine"})
		s.ok(s.loose, "join_council", args{"session_id": id, "agent_name": "gimli"})
		s.refused(fault.Forbidden, s.drift, "send_response", args{"session_id": id, "agent_name": "gimli", "content": "I am"})
		s.clock.Pass(11 * time.Minute)
		s.refused(fault.Forbidden, s.drift, "close_council", args{"session_id": id, "agent_name": "legolas",
			"conclusion": "mine"})
		s.ok(s.beta, "close_council", args{"session_id": id, "conclusion": "nobody is there"})
	})
}

func TestAttackAGroupTakesNobodyIn(t *testing.T) {
	each(t, func(s *scene) {
		s.ok(s.alpha, "set_group", args{"name": "core", "members": []string{"alpha"}})
		s.refused(fault.Forbidden, s.beta, "set_group", args{"name": "core", "members": []string{"alpha", "beta"}})
		s.refused(fault.Forbidden, s.loose, "set_group", args{"name": "core", "members": []string{}})
		s.ok(s.alpha, "set_group", args{"name": "core", "members": []string{"alpha"}, "open": true})
		s.ok(s.beta, "set_group", args{"name": "core", "members": []string{"alpha", "beta"}})
		s.refused(fault.Forbidden, s.beta, "set_group", args{"name": "core", "members": []string{"beta"}})
		s.ok(s.beta, "set_group", args{"name": "core", "members": []string{"alpha"}})
	})
}

func TestAttackAnAnswerIsForItsAsker(t *testing.T) {
	each(t, func(s *scene) {
		id := s.ok(s.alpha, "ask_question", args{"question": "the code?"})["questionId"]
		s.ok(s.human, "answer_question", args{"questionId": id, "response": "open sesame"})
		for _, other := range []string{s.beta, s.loose} {
			s.refused(fault.Forbidden, other, "get_response", args{"questionId": id})
			for _, list := range []args{{"target": "user", "status": "all"}, {"type": "question", "status": "all"}} {
				text, _ := json.Marshal(s.ok(other, "get_tasks", list))
				if strings.Contains(string(text), "open sesame") {
					s.Errorf("get_tasks %v shows the answer: %s", list, text)
				}
			}
			text, _ := json.Marshal(s.ok(other, "get_task", args{"taskId": id}))
			if strings.Contains(string(text), "open sesame") {
				s.Errorf("get_task shows the answer: %s", text)
			}
		}
		if got := s.ok(s.alpha, "get_response", args{"questionId": id}); got["response"] != "open sesame" {
			s.Errorf("the asker gets %v", got)
		}
	})
}

func TestAttackAQuestionForTheHumanIsNoWork(t *testing.T) {
	each(t, func(s *scene) {
		s.ok(s.alpha, "ask_question", args{"question": "may I?"})
		s.ok(s.alpha, "create_task", args{"title": "t", "target": "alpha"})
		for _, key := range []string{s.beta, s.loose} {
			if got := s.ok(key, "get_tasks", args{})["tasks"].([]any); len(got) != 0 {
				s.Errorf("a new agent is given %v", got)
			}
		}
		if got := s.ok(s.alpha, "get_tasks", args{})["tasks"].([]any); len(got) != 1 {
			s.Errorf("alpha is given %v", got)
		}
	})
}

func TestAttackAChildOfAKeyIsNeverMore(t *testing.T) {
	each(t, func(s *scene) {
		made := s.ok(s.human, "create_key", args{"program": "ci", "scopes": []string{"admin", "dispatch", "keys"}, "expires": 3600})
		ci := made["key"].(string)
		s.refused(fault.Forbidden, ci, "create_key", args{"program": "other"})
		s.refused(fault.Forbidden, ci, "create_key", args{"expires": 7200})
		s.refused(fault.Forbidden, ci, "create_key", args{"scopes": []string{"relay"}})
		s.refused(fault.Forbidden, ci, "create_key", args{"scopes": []string{"admin"}})
		s.refused(fault.Forbidden, ci, "create_key", args{"kind": "human"})
		child := s.ok(ci, "create_key", args{})
		if child["program"] != "ci" || child["expiresAt"] != made["expiresAt"] {
			s.Errorf("the child is %v of %v", child, made)
		}
		key := child["key"].(string)
		s.ok(key, "get_tasks", args{})
		s.refused(fault.Forbidden, key, "list_keys", args{})
		s.ok(s.human, "revoke_key", args{"keyId": made["id"]})
		if a := s.hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 401 {
			s.Errorf("the child of a revoked key gets %v", a)
		}
	})
}

func TestAttackTheSameIdempotencyKeyOfTwoProgramsIsTwoKeys(t *testing.T) {
	each(t, func(s *scene) {
		send := args{"message": "m", "target": "alpha", "message_type": "STATUS", "idempotencyKey": "1"}
		first := s.ok(s.beta, "send_message", send)["messageId"]
		send["source"] = "loose"
		second := s.ok(s.loose, "send_message", send)["messageId"]
		send["source"] = "drift"
		third := s.ok(s.drift, "send_message", send)["messageId"]
		if first == second || second == third {
			s.Error("a message was swallowed")
		}
		if got := s.ok(s.alpha, "get_messages", args{})["messages"].([]any); len(got) != 3 {
			s.Errorf("alpha has %d messages, want 3", len(got))
		}
	})
}

func TestAttackAStoryIsOneAgents(t *testing.T) {
	each(t, func(s *scene) {
		id := s.ok(s.alpha, "create_sprint", args{"projectName": "p", "branch": "b",
			"stories": []args{{"id": "s1", "title": "s"}}})["sprintId"]
		var all sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for range 8 {
			all.Go(func() {
				a := s.hub.REST(s.alpha, "PATCH", "/v1/sprints/"+id.(string)+"/stories/s1", args{"status": "active"})
				mu.Lock()
				defer mu.Unlock()
				if a.Status == 200 {
					won++
				}
			})
		}
		all.Wait()
		if won != 1 {
			s.Errorf("%d agents under one key were told that the story is theirs, want 1", won)
		}
		s.refused(fault.Forbidden, s.beta, "update_sprint_story", args{"sprintId": id, "storyId": "s1", "status": "complete",
			"claimToken": 1})
		s.ok(s.alpha, "update_sprint_story", args{"sprintId": id, "storyId": "s1", "status": "complete", "claimToken": 1})
	})
}

func TestAttackADuelEndsForThoseWithASeat(t *testing.T) {
	each(t, func(s *scene) {
		s.ok(s.alpha, "campfire_throw_gauntlet", args{"fireId": "f", "target_name": "beta", "thesis_of_attack": "no"})
		s.refused(fault.Forbidden, s.loose, "campfire_abandon_duel", args{"fireId": "f"})
		s.ok(s.loose, "campfire_take_oath_of_judgement", args{"fireId": "f", "character_name": "judge"})
		s.refused(fault.Forbidden, s.beta, "campfire_strike_argument", args{"fireId": "f", "technical_evidence": "e"})
		s.ok(s.alpha, "campfire_strike_argument", args{"fireId": "f", "technical_evidence": "e"})
		s.refused(fault.Forbidden, s.drift, "campfire_hold_the_line", args{"fireId": "f", "character_name": "beta",
			"defense_rationale": "d", "surrender": true})
		s.ok(s.beta, "campfire_hold_the_line", args{"fireId": "f", "defense_rationale": "d", "surrender": false})
		s.refused(fault.Forbidden, s.drift, "campfire_deliver_verdict", args{"fireId": "f", "character_name": "judge",
			"winner": "defender", "ruling_rationale": "r", "required_plan_mutation": "m"})
		s.ok(s.loose, "campfire_deliver_verdict", args{"fireId": "f", "character_name": "judge", "winner": "defender",
			"ruling_rationale": "r", "required_plan_mutation": "m"})
	})
}

func TestAttackASessionIsItsOwners(t *testing.T) {
	each(t, func(s *scene) {
		s.ok(s.loose, "create_session", args{"name": "mine", "sessionId": "work"})
		for _, other := range []string{s.beta, s.drift} {
			s.refused(fault.Forbidden, other, "update_session", args{"sessionId": "work", "state": "complete"})
			s.refused(fault.Forbidden, other, "create_session", args{"name": "taken over", "sessionId": "work"})
		}
		s.ok(s.human, "update_session", args{"sessionId": "work", "state": "complete"})
	})
}

func TestAttackALinksKeyAnswersQuestionsOnly(t *testing.T) {
	each(t, func(s *scene) {
		link, err := s.hub.App.Keys.MakeLink(s.Context(), "victim-"+strings.ToLower(s.over), false)
		hubtest.Must(s.T, err)
		made, err := s.hub.App.Keys.Redeem(s.Context(), link.Code)
		hubtest.Must(s.T, err)
		q := s.ok(s.alpha, "ask_question", args{"question": "?"})["questionId"]
		id := s.ok(s.alpha, "create_task", args{"title": "t", "target": "alpha"})["taskId"]
		s.refused(fault.Forbidden, made.Key, "create_key", args{"kind": "human"})
		s.refused(fault.Forbidden, made.Key, "list_keys", args{})
		s.refused(fault.Forbidden, made.Key, "get_tasks", args{})
		s.refused(fault.Forbidden, made.Key, "get_task", args{"taskId": id})
		s.refused(fault.Forbidden, made.Key, "get_messages", args{"target": "alpha"})
		s.ok(made.Key, "list_questions", args{})
		s.ok(made.Key, "get_task", args{"taskId": q})
		s.ok(made.Key, "answer_question", args{"questionId": q, "response": "yes"})
		console, err := s.hub.App.Keys.MakeLink(s.Context(), "victim-"+strings.ToLower(s.over), true)
		hubtest.Must(s.T, err)
		wide, err := s.hub.App.Keys.Redeem(s.Context(), console.Code)
		hubtest.Must(s.T, err)
		s.refused(fault.Forbidden, wide.Key, "create_key", args{})
		s.ok(wide.Key, "get_tasks", args{})
	})
}

func TestAttackARevokedKeyGetsNothingFromAWait(t *testing.T) {
	each(t, func(s *scene) {
		made := s.ok(s.human, "create_key", args{"program": "gamma"})
		type result struct {
			out args
			f   *fault.Error
		}
		ended := make(chan result, 1)
		go func() {
			out, f := s.call(made["key"].(string), "get_messages", args{"waitMs": 50000})
			ended <- result{out, f}
		}()
		domaintest.Eventually(s, "the call waits", func() bool { return s.hub.Catalogue.Waits.Now() == 1 })
		s.ok(s.human, "revoke_key", args{"keyId": made["id"]})
		begun := time.Now()
		select {
		case r := <-ended:
			if r.f == nil || r.f.Kind != fault.Unauthenticated {
				s.Errorf("the wait ends with %v, %v", r.out, r.f)
			}
		case <-time.After(20 * time.Second):
			s.Errorf("the wait goes on %v after the revocation", time.Since(begun))
		}
	})
}

func TestAnAgentLearnsWhoItIs(t *testing.T) {
	each(t, func(s *scene) {
		me := s.ok(s.alpha, "whoami", args{})
		if me["program"] != "alpha" || me["kind"] != string(identity.Agent) {
			s.Errorf("alpha is told that it is %v", me)
		}
		if me := s.ok(s.loose, "whoami", args{}); me["program"] != nil || me["keyId"] == "" {
			s.Errorf("an unbound key is told that it is %v", me)
		}
	})
}
