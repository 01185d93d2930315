package hubtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// refusal is a call that is refused with a message that clients of agent teams know (see the documentation of package
// team).
type refusal struct {
	op    string
	in    args // the team is crew unless team_name is given
	code  string
	words string
}

var (
	longName = "abcdefghijklmnopqrstuvwxyz" + strings.Repeat("x", 39)
	badNames = "Use only letters, numbers, hyphens, underscores."
	circular = "would create a circular dependency"
	statusOf = map[string]int{
		"INVALID_ARGUMENT": 400, "FORBIDDEN": 403, "NOT_FOUND": 404, "ALREADY_EXISTS": 409, "FAILED_PRECONDITION": 409,
	}
)

// refusals are refused calls of alpha, the lead of team crew. Its teammate is beta. Of its tasks 2 is blocked by 1,
// 3 by 2, and 6 by 5; 4 is completed and 5 is in progress.
var refusals = []refusal{
	{"team_create", args{"team_name": "another"}, "FAILED_PRECONDITION",
		"Session already has active team: crew. One team per session."},
	{"team_delete", args{}, "FAILED_PRECONDITION",
		"Cannot delete team crew: 1 non-lead member(s) still present. Remove all teammates before deleting."},
	{"team_read_config", args{"team_name": "nowhere"}, "NOT_FOUND", "Team nowhere not found"},
	{"team_spawn_teammate", args{"name": "beta", "prompt": "p"}, "ALREADY_EXISTS",
		"Member 'beta' already exists in team 'crew'"},

	{"team_send_message", args{"type": "message", "recipient": "beta", "summary": "s"}, "INVALID_ARGUMENT",
		"Message content must not be empty"},
	{"team_send_message", args{"type": "message", "recipient": "beta", "summary": "s", "content": " \n"},
		"INVALID_ARGUMENT", "Message content must not be empty"},
	{"team_send_message", args{"type": "message", "recipient": "beta", "content": "c"}, "INVALID_ARGUMENT",
		"Message summary must not be empty"},
	{"team_send_message", args{"type": "message", "content": "c", "summary": "s"}, "INVALID_ARGUMENT",
		"Message recipient must not be empty"},
	{"team_send_message", args{"type": "message", "recipient": "nobody", "content": "c", "summary": "s"}, "NOT_FOUND",
		"Recipient nobody is not a member of team crew"},
	{"team_send_message", args{"type": "broadcast", "content": "c"}, "INVALID_ARGUMENT",
		"Broadcast summary must not be empty"},
	{"team_send_message", args{"type": "shutdown_request"}, "INVALID_ARGUMENT",
		"Shutdown request recipient must not be empty"},
	{"team_send_message", args{"type": "shutdown_request", "recipient": "team-lead"}, "INVALID_ARGUMENT",
		"Cannot send shutdown request to team-lead"},
	{"team_send_message", args{"type": "shutdown_request", "recipient": "nobody"}, "NOT_FOUND",
		"Recipient nobody is not a member of team crew"},
	{"team_send_message", args{"type": "plan_approval_response", "approve": true}, "INVALID_ARGUMENT",
		"Plan approval recipient must not be empty"},
	{"team_send_message", args{"type": "plan_approval_response", "recipient": "nobody"}, "NOT_FOUND",
		"Recipient nobody is not a member of team crew"},
	{"team_send_message", args{"type": "shout", "recipient": "beta"}, "INVALID_ARGUMENT",
		"Unknown message type: shout"},
	{"team_send_message", args{"type": ""}, "INVALID_ARGUMENT", "Unknown message type: "},

	{"team_task_create", args{"subject": "", "description": "d"}, "INVALID_ARGUMENT", "Task subject must not be empty"},
	{"team_task_create", args{"subject": " ", "description": "d"}, "INVALID_ARGUMENT",
		"Task subject must not be empty"},
	{"team_task_get", args{"task_id": "99"}, "NOT_FOUND", "Task 99 not found in team crew"},
	{"team_task_get", args{"task_id": "no task"}, "NOT_FOUND", "Task no task not found in team crew"},
	{"team_task_update", args{"task_id": "99", "status": "completed"}, "NOT_FOUND", "Task 99 not found in team crew"},
	{"team_task_update", args{"task_id": "1", "subject": "changed", "status": "done"}, "INVALID_ARGUMENT",
		"Invalid status: done"},
	{"team_task_list", args{"status": "done"}, "INVALID_ARGUMENT", "Invalid status: done"},
	{"team_task_update", args{"task_id": "4", "subject": "changed", "status": "in_progress"}, "FAILED_PRECONDITION",
		"Cannot transition from completed to in_progress"},
	{"team_task_update", args{"task_id": "4", "subject": "changed", "status": "pending"}, "FAILED_PRECONDITION",
		"Cannot transition from completed to pending"},
	{"team_task_update", args{"task_id": "5", "owner": "beta", "status": "pending"}, "FAILED_PRECONDITION",
		"Cannot transition from in_progress to pending"},
	{"team_task_update", args{"task_id": "1", "subject": "changed", "add_blocks": []string{"3", "1"}},
		"INVALID_ARGUMENT", "Task 1 cannot block itself"},
	{"team_task_update", args{"task_id": "1", "owner": "beta", "add_blocked_by": []string{"5", "1"}},
		"INVALID_ARGUMENT", "Task 1 cannot be blocked by itself"},
	{"team_task_update", args{"task_id": "1", "owner": "beta", "add_blocks": []string{"3", "99"}},
		"FAILED_PRECONDITION", "Referenced task 99 does not exist"},
	{"team_task_update", args{"task_id": "1", "owner": "beta", "add_blocked_by": []string{"5", "99"}},
		"FAILED_PRECONDITION", "Referenced task 99 does not exist"},
	{"team_task_update", args{"task_id": "2", "owner": "beta", "add_blocks": []string{"5", "1"}}, "FAILED_PRECONDITION",
		"Adding block 2 -> 1 " + circular},
	{"team_task_update", args{"task_id": "3", "owner": "beta", "add_blocks": []string{"1"}}, "FAILED_PRECONDITION",
		"Adding block 3 -> 1 " + circular},
	{"team_task_update", args{"task_id": "1", "owner": "beta", "add_blocked_by": []string{"2"}}, "FAILED_PRECONDITION",
		"Adding dependency 1 blocked_by 2 " + circular},
	{"team_task_update", args{"task_id": "1", "owner": "beta", "add_blocked_by": []string{"5", "3"}},
		"FAILED_PRECONDITION", "Adding dependency 1 blocked_by 3 " + circular},
	{"team_task_update",
		args{"task_id": "1", "owner": "beta", "add_blocks": []string{"5"}, "add_blocked_by": []string{"6"}},
		"FAILED_PRECONDITION", "Adding dependency 1 blocked_by 6 " + circular},
	{"team_task_update", args{"task_id": "2", "owner": "beta", "status": "in_progress"}, "FAILED_PRECONDITION",
		"Cannot set status to in_progress: blocked by task 1 (status: pending)"},
	{"team_task_update", args{"task_id": "6", "owner": "beta", "status": "completed"}, "FAILED_PRECONDITION",
		"Cannot set status to completed: blocked by task 5 (status: in_progress)"},
	{"team_task_update", args{"task_id": "1", "owner": "beta", "status": "completed", "add_blocked_by": []string{"6"}},
		"FAILED_PRECONDITION", "Cannot set status to completed: blocked by task 6 (status: pending)"},

	{"team_force_kill_teammate", args{"agent_name": "nobody"}, "NOT_FOUND", "Teammate nobody not found in team crew"},
	{"team_force_kill_teammate", args{"agent_name": "team-lead"}, "NOT_FOUND",
		"Teammate team-lead not found in team crew"},
	{"team_process_shutdown_approved", args{"agent_name": "nobody"}, "NOT_FOUND",
		"Teammate nobody not found in team crew"},
	{"team_process_shutdown_approved", args{"agent_name": "team-lead"}, "INVALID_ARGUMENT",
		"Cannot process shutdown for team-lead"},
	{"team_heartbeat", args{"agent_name": "nobody"}, "NOT_FOUND", "Teammate nobody not found in team crew"},

	// Refusals for which the format of agent teams has no message.
	{"team_spawn_teammate", args{"name": "team-lead", "prompt": "p"}, "INVALID_ARGUMENT",
		"Agent name 'team-lead' is reserved"},
	{"team_spawn_teammate", args{"name": "no name!", "prompt": "p"}, "INVALID_ARGUMENT",
		"Invalid agent name: 'no name!'. " + badNames},
	{"team_spawn_teammate", args{"name": longName, "prompt": "p"}, "INVALID_ARGUMENT",
		"Agent name too long (65 chars, max 64): 'abcdefghijklmnopqrst'..."},
	{"team_spawn_teammate", args{"name": "x", "prompt": " "}, "INVALID_ARGUMENT", "Prompt must not be empty"},
	{"team_claim_process", args{"process_id": "nobodys", "runner": "r"}, "NOT_FOUND",
		"Process nobodys not found in team crew"},
	{"team_report_process", args{"process_id": "nobodys", "runner": "r", "state": "lost"}, "NOT_FOUND",
		"Process nobodys not found in team crew"},
}

// inputs are valid inputs of each operation of a team, without the name of the team.
var inputs = map[string]args{
	"team_create": {}, "team_delete": {}, "team_read_config": {}, "team_task_list": {}, "team_list_processes": {},
	"team_spawn_teammate":            {"name": "x", "prompt": "p"},
	"team_force_kill_teammate":       {"agent_name": "beta"},
	"team_process_shutdown_approved": {"agent_name": "beta"},
	"team_heartbeat":                 {"agent_name": "beta"},
	"team_send_message":              {"type": "message", "recipient": "beta", "summary": "s", "content": "c"},
	"team_read_inbox":                {"agent_name": "team-lead"},
	"team_poll_inbox":                {"agent_name": "team-lead", "timeout_ms": 0},
	"team_task_create":               {"subject": "s", "description": "d"},
	"team_task_update":               {"task_id": "1", "status": "completed", "subject": "changed"},
	"team_task_get":                  {"task_id": "1"},
	"team_claim_process":             {"process_id": "nobodys", "runner": "r"},
	"team_report_process":            {"process_id": "nobodys", "runner": "r", "state": "lost"},
}

// everyRefusal returns refusals, and for each operation those of invalid and unknown names of teams.
func everyRefusal(t *testing.T, hub *hubtest.Hub) []refusal {
	t.Helper()
	all := slices.Clone(refusals)
	for _, o := range hub.Catalogue.Ops() {
		if o.Toolset != "team" || o.For == op.Humans { // a list of all teams names none
			continue
		}
		in, known := inputs[o.Name]
		if !known {
			t.Errorf("%s: inputs has no input for it", o.Name)
			continue
		}
		named := func(name string) args {
			out := maps.Clone(in)
			out["team_name"] = name
			return out
		}
		all = append(all,
			refusal{o.Name, named("no team!"), "INVALID_ARGUMENT", "Invalid team name: 'no team!'. " + badNames},
			refusal{o.Name, named("ä/.."), "INVALID_ARGUMENT", "Invalid team name: 'ä/..'. " + badNames},
			refusal{o.Name, named(longName), "INVALID_ARGUMENT",
				"Team name too long (65 chars, max 64): 'abcdefghijklmnopqrst'..."})
		// team_create needs no team, and team_read_config has a message of its own.
		if o.Name != "team_create" && o.Name != "team_read_config" {
			all = append(all, refusal{o.Name, named("nowhere"), "NOT_FOUND", "Team nowhere does not exist"})
		}
	}
	return all
}

func TestRefusalsOfATeamHaveTheMessagesOfAgentTeamsAndChangeNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{Now: new(domaintest.Clock).Now})
		alpha := hub.Agent("u", "alpha")
		createCrew(t, hub, alpha)
		before := readCrew(t, hub, alpha)
		for _, r := range everyRefusal(t, hub) {
			in := maps.Clone(r.in)
			if in["team_name"] == nil {
				in["team_name"] = "crew"
			}
			o := hub.Catalogue.Op(r.op)
			a := hub.Op(alpha, o, in)
			if f := a.Fault(); a.Status != statusOf[r.code] || f.Code != r.code || f.Message != r.words {
				t.Errorf("%s %v over REST: got %s, want %d %s %q", r.op, in, a, statusOf[r.code], r.code, r.words)
			}
			if o.RESTOnly {
				continue
			}
			for path, name := range map[string]string{everything: o.Name, "/mcp/x/team": shortName(o)} {
				m := hub.Tool(alpha, path, name, in)
				f := m.Fault()
				if f.Code != r.code || f.Message != r.words ||
					!slices.Equal(m.Texts, []string{r.code + ": " + r.words}) {
					t.Errorf("%s %v on %s: got %s, want %s %q", name, in, path, m.Answer, r.code, r.words)
				}
			}
		}
		if after := readCrew(t, hub, alpha); after != before {
			t.Errorf("refused calls changed data:\nbefore %s\nafter  %s", before, after)
		}
	})
}

// shortName returns the name of an operation on the endpoint of its toolset.
func shortName(o *op.Op) string {
	if o.Alias != "" {
		return o.Alias
	}
	return o.Name
}

// createCrew creates the team and the tasks that refusals need.
func createCrew(t *testing.T, hub *hubtest.Hub, lead string) {
	t.Helper()
	call := func(name string, in args) {
		t.Helper()
		in["team_name"] = "crew"
		hubtest.Must(t, hub.Op(lead, hub.Catalogue.Op(name), in).Into(&struct{}{}))
	}
	call("team_create", args{})
	call("team_spawn_teammate", args{"name": "beta", "prompt": "p", "backend_type": "external"})
	for range 6 {
		call("team_task_create", args{"subject": "s", "description": "d"})
	}
	call("team_task_update", args{"task_id": "1", "add_blocks": []string{"2"}})
	call("team_task_update", args{"task_id": "3", "add_blocked_by": []string{"2"}})
	call("team_task_update", args{"task_id": "4", "status": "completed"})
	call("team_task_update", args{"task_id": "5", "status": "in_progress", "add_blocks": []string{"6"}})
}

// readCrew returns the whole state of the team.
func readCrew(t *testing.T, hub *hubtest.Hub, lead string) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{
		"", "/tasks", "/processes", "/inboxes/team-lead?mark_as_read=false", "/inboxes/beta?mark_as_read=false",
	} {
		a := hub.REST(lead, "GET", "/v1/teams/crew"+path, nil)
		if a.Status != 200 {
			t.Fatal(a)
		}
		b.Write(a.Data())
		b.WriteByte('\n')
	}
	return b.String()
}
