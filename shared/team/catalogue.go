package team

import (
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

const (
	set        = "team"
	teamRoute  = "/v1/teams/{team_name}"
	agentRoute = teamRoute + "/members/{agent_name}"
	inboxRoute = teamRoute + "/inboxes/{agent_name}"
	taskRoute  = teamRoute + "/tasks"
	procRoute  = teamRoute + "/processes"
)

// Guide returns the line that leads a teammate to its mail.
func (*Service) Guide() []op.Guide {
	return []op.Guide{{Line: "Mail of your team: %s.", Tools: []string{"team_poll_inbox"}}}
}

// Operations returns the operations of the toolset team.
func (s *Service) Operations() []op.Op {
	return append(s.membership(), append(s.work(), s.runnerOperations()...)...)
}

func (s *Service) membership() []op.Op {
	return []op.Op{
		op.New(op.Spec{Name: "team_create", Starts: op.Always, Title: "Create a team", Toolset: set, Route: "POST /v1/teams",
			Effect: op.Write, Creates: true, Cases: createCases,
			Doc: "Found a team of agents that you lead. You lead one team at a time."}, s.Create),
		op.New(op.Spec{Name: "team_delete", Starts: op.Never, Title: "Delete a team", Toolset: set, Route: "DELETE " + teamRoute,
			Effect: op.Destroy, Cases: deleteCases,
			Doc: "End a team that has no teammates left."}, s.Delete),
		op.New(op.Spec{Name: "team_read_config", Alias: "read_config", Title: "Read a team", Toolset: set,
			Route: "GET " + teamRoute, Effect: op.Read, Cases: readCases,
			Doc: "Read a team: its lead and its members."}, s.ReadConfig),
		op.New(op.Spec{Name: "team_list", Title: "List the teams", Toolset: set, Route: "GET /v1/teams", Effect: op.Read,
			For: op.Humans, RESTOnly: true, Cases: listCases, Doc: "For people: all teams, by their names."}, s.List),
		op.New(op.Spec{Name: "team_spawn_teammate", Starts: op.Always, Alias: "spawn_teammate", Title: "Spawn a teammate", Toolset: set,
			Route: "POST " + teamRoute + "/members", Effect: op.Write, Creates: true, Cases: spawnCases,
			Doc: "Add an agent to your team and have its process started by the team's runner. Its prompt is the " +
				"first message in its inbox."}, s.Spawn),
		op.New(op.Spec{Name: "team_force_kill_teammate", Starts: op.Never, Alias: "force_kill_teammate", Title: "Kill a teammate",
			Toolset: set, Route: "DELETE " + agentRoute, Effect: op.Destroy, Cases: killCases,
			Doc: "Remove a teammate that does not answer and end its process. Its unfinished tasks go back to " +
				"pending."}, s.Kill),
		op.New(op.Spec{Name: "team_process_shutdown_approved", Starts: op.Never, Alias: "process_shutdown_approved",
			Title: "Complete a shutdown", Toolset: set, Route: "POST " + agentRoute + "/shutdown", Effect: op.Destroy,
			Cases: shutdownCases,
			Doc: "Remove a teammate that approved your shutdown request; its process is ended and its unfinished " +
				"tasks go back to pending."}, s.ShutdownApproved),
		op.New(op.Spec{Name: "team_heartbeat", Starts: op.Never, Title: "Send a heartbeat", Toolset: set,
			Route: "POST " + agentRoute + "/heartbeat", Effect: op.Write, Cases: heartbeatCases,
			Doc: "Say that you, a teammate, are alive. With a task in progress do so within every 10 minutes, or " +
				"the task goes back; a runner does it for those it started."}, s.Heartbeat),
	}
}

func (s *Service) work() []op.Op {
	return []op.Op{
		op.New(op.Spec{Name: "team_send_message", Starts: op.Always, Alias: "send_message", Title: "Message a teammate", Toolset: set,
			Route: "POST " + teamRoute + "/messages", Effect: op.Write, Creates: true, Cases: sendCases,
			Doc: "Send a message to one member of your team or broadcast to all, ask a teammate to shut down, or " +
				"answer a shutdown request or a plan."}, s.Send),
		op.New(op.Spec{Name: "team_read_inbox", Alias: "read_inbox", Title: "Read an inbox", Toolset: set,
			Route: "POST " + inboxRoute + "/read", Effect: op.Consume, Cases: readInboxCases,
			Compat: []op.Compat{{Route: "GET " + inboxRoute, Peek: map[string]any{"mark_as_read": false}}},
			Doc:    "Read the messages of a team member, oldest first, and mark them as read."}, s.ReadInbox),
		op.New(op.Spec{Name: "team_poll_inbox", Alias: "poll_inbox", Title: "Wait for messages", Toolset: set,
			Route: "POST " + inboxRoute + "/poll", Effect: op.Consume, Cases: pollInboxCases,
			Compat: []op.Compat{{Route: "GET " + inboxRoute + "/poll"}},
			Doc:    "Wait for unread messages of a team member, and mark them as read."}, s.PollInbox),
		op.New(op.Spec{Name: "team_task_create", Starts: op.Always, Alias: "task_create", Title: "Create a team task", Toolset: set,
			Route: "POST " + taskRoute, Effect: op.Write, Creates: true, Cases: createTaskCases,
			Doc: "Add a task to your team's list. Give it an owner and dependencies with task_update."}, s.CreateTask),
		op.New(op.Spec{Name: "team_task_update", Starts: works, Alias: "task_update", Title: "Update a team task", Toolset: set,
			Route: "PATCH " + taskRoute + "/{task_id}", Effect: op.Write, Cases: updateTaskCases,
			Doc: "Take up, assign, complete or delete a task of your team, change its text, or say which tasks it " +
				"waits for. All of it is done or nothing."}, s.UpdateTask),
		op.New(op.Spec{Name: "team_task_list", Alias: "task_list", Title: "List team tasks", Toolset: set,
			Route: "GET " + taskRoute, Effect: op.Read, Cases: listTasksCases,
			Doc: "List your team's tasks: who owns them, what blocks them, and with ready those that can be taken up."},
			s.ListTasks),
		op.New(op.Spec{Name: "team_task_get", Alias: "task_get", Title: "Read a team task", Toolset: set,
			Route: "GET " + taskRoute + "/{task_id}", Effect: op.Read, Cases: getTaskCases,
			Doc: "Read one task of your team."}, s.GetTask),
	}
}

// forRunners are the scopes beside the toolset that reach the operations of runners.
var forRunners = []string{identity.ScopeRunner}

// runnerOperations returns the operations for runners, which are served over REST alone.
func (s *Service) runnerOperations() []op.Op {
	return []op.Op{
		op.New(op.Spec{Name: "team_list_processes", Scopes: forRunners, Title: "List processes", Toolset: set,
			Route: "GET " + procRoute, Effect: op.Read, RESTOnly: true, Cases: listProcessesCases,
			Doc: "List the processes of a team's members; for a runner, those that it is to start or to end, with " +
				"wait_ms as soon as there is one."}, s.ListProcesses),
		op.New(op.Spec{Name: "team_claim_process", Starts: op.Always, Scopes: forRunners, Title: "Claim a process", Toolset: set,
			Route: "POST " + procRoute + "/{process_id}/claim", Effect: op.Write, Secret: true, RESTOnly: true,
			Cases: claimProcessCases,
			Doc:   "Take a process that waits to be started; of many runners one gets it."}, s.ClaimProcess),
		op.New(op.Spec{Name: "team_report_process", Starts: op.Never, Scopes: forRunners, Title: "Report a process", Toolset: set,
			Route: "POST " + procRoute + "/{process_id}/report", Effect: op.Write, RESTOnly: true,
			Cases: reportProcessCases,
			Doc:   "Report what became of a process that the runner holds. Running again is the member's heartbeat."},
			s.ReportProcess),
	}
}

// works reports whether an update does more than to end or give back a task.
func works(in map[string]any) bool {
	for name, v := range in {
		switch owner, _ := v.(string); {
		case name == "team_name", name == "task_id", name == "owner" && owner == "":
		case name == "status" && v != string(InProgress):
		default:
			return true
		}
	}
	return false
}
