package demo

import "time"

// dawn is the length of the day.
const dawn = 10 * time.Hour

func at(hours, minutes int) time.Duration {
	return time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
}

// sessions are the agents' reports of their own state, the last a minute before the end.
func sessions() (steps []step) {
	for i, s := range []struct {
		program, name, status, state string
		progress                     int
	}{
		{"architect", "Plans the checkout", "Weighing the two designs for idempotent payments", "working", 40},
		{"backend", "Payments service", "Writing the retry of a failed capture", "working", 65},
		{"frontend", "Checkout page", "Waits for the shape of the payment error", "blocked", 55},
		{"reviewer", "Reviews", "Second pass over the refund endpoint", "working", 80},
		{"tester", "End-to-end suite", "Running the checkout suite against staging", "working", 30},
		{"release", "Release 2.4", "Needs a decision about the freeze", "pinned", 90},
	} {
		steps = append(steps,
			step{at(9, 50-i), s.program, "create_session", in{"name": s.name, "status": "Reads the plan of the day",
				"projectName": "orchard", "sessionId": s.program + "/1"}, ""},
			step{at(0, 2), s.program, "update_session", in{"sessionId": s.program + "/1", "status": s.status,
				"state": s.state, "progress": s.progress}, ""})
	}
	hook := func(program, name, client, branch string, permissions in) step {
		return step{at(0, 5), program, "hook_event", in{"version": 1, "client": client, "event": "prompt", "thread": program + "-day",
			"sessionId": program + "/1", "name": name, "host": "studio", "directory": "/home/ana/src/orchard", "branch": branch,
			"permissions": permissions}, ""}
	}
	return append(steps,
		hook("backend", "Payments service", "claude", "payments", in{"on": true, "assurance": "paired", "timeout": 300,
			"allow": []string{"Bash(git status*)", "Bash(make test*)"}, "deny": []string{"Bash(git push*)"}}),
		hook("frontend", "Checkout page", "codex", "checkout-page", in{"on": false}),
		step{at(8, 0), "tester", "create_session", in{"name": "Load test", "sessionId": "tester/2", "projectName": "orchard"}, ""},
		step{at(6, 0), "tester", "update_session", in{"sessionId": "tester/2", "status": "1,200 checkouts a minute, no errors",
			"state": "complete", "progress": 100}, ""})
}

// sprintDay is the sprint in three waves.
func sprintDay() []step {
	story := func(before time.Duration, as, id string, more in) step {
		more["sprintId"], more["storyId"] = "$sprint", id
		return step{before, as, "update_sprint_story", more, ""}
	}
	done := in{"status": "complete", "progress": 100}
	return []step{
		{at(9, 30), "architect", "create_sprint", in{"projectName": "orchard", "branch": "checkout-2.4", "stories": []in{
			{"id": "schema", "title": "Payment attempts table", "wave": 1},
			{"id": "errors", "title": "One shape for payment errors", "wave": 1},
			{"id": "capture", "title": "Capture with retries", "wave": 2, "dependencies": []string{"schema"}, "complexity": "high"},
			{"id": "refund", "title": "Refund endpoint", "wave": 2, "dependencies": []string{"schema", "errors"}},
			{"id": "page", "title": "Checkout page shows failures", "wave": 2, "dependencies": []string{"errors"}},
			{"id": "suite", "title": "Checkout suite on staging", "wave": 3, "dependencies": []string{"capture", "page"}},
			{"id": "notes", "title": "Release notes", "wave": 3, "dependencies": []string{"refund"}},
		}}, "sprintId as sprint"},
		story(at(9, 0), "backend", "schema", in{"status": "active", "currentAction": "Migration"}),
		story(at(8, 50), "frontend", "errors", in{"status": "active", "currentAction": "Lists the cases"}),
		story(at(7, 40), "backend", "schema", in{"status": "complete", "progress": 100}),
		story(at(7, 0), "frontend", "errors", done),
		story(at(0, 14), "backend", "capture", in{"status": "active", "progress": 65, "currentAction": "Retry of a failed capture"}),
		story(at(0, 12), "reviewer", "refund", in{"status": "active", "progress": 80, "currentAction": "Second pass of the review"}),
		story(at(0, 11), "frontend", "page", in{"status": "active", "progress": 20}),
		story(at(0, 6), "frontend", "page", in{"status": "failed", "currentAction": "The staging API returns no error codes"}),
	}
}

// team is a lead with one teammate and four tasks.
func team() []step {
	task := func(before time.Duration, subject string) step {
		return step{before, "architect", "team_task_create", in{"team_name": "checkout", "subject": subject,
			"description": "Part of checkout 2.4."}, ""}
	}
	change := func(before time.Duration, id string, more in) step {
		more["team_name"], more["task_id"] = "checkout", id
		return step{before, "architect", "team_task_update", more, ""}
	}
	return []step{
		{at(7, 50), "architect", "team_create", in{"team_name": "checkout", "description": "Makes the checkout idempotent"}, ""},
		{at(7, 49), "architect", "team_spawn_teammate", in{"team_name": "checkout", "name": "ada", "prompt": "Write the table.",
			"backend_type": "external"}, ""},
		task(at(7, 40), "Table of attempts"), task(at(7, 39), "Capture"), task(at(7, 38), "Error page"), task(at(7, 37), "Suite"),
		change(at(7, 30), "2", in{"add_blocked_by": []string{"1"}}),
		change(at(7, 29), "3", in{"add_blocked_by": []string{"1"}}),
		change(at(7, 28), "4", in{"add_blocked_by": []string{"2", "3"}}),
		change(at(7, 0), "1", in{"status": "in_progress", "owner": "ada"}),
	}
}

// work is the queue: tasks that wait, and tasks that are claimed, done, blocked or failed.
func work() []step {
	task := func(before time.Duration, by, title, target, priority, instructions, name string) step {
		return step{before, by, "create_task", in{"title": title, "target": target, "priority": priority,
			"instructions": instructions, "projectId": "orchard"}, "taskId as " + name}
	}
	claim := func(before time.Duration, by, name string) step {
		return step{before, by, "claim_task", in{"taskId": "$" + name, "leaseSeconds": 14400, "sessionId": by + "/1"},
			"claimToken as " + name + "Token"}
	}
	end := func(before time.Duration, by, name, outcome, result string, tokens int, usd float64) step {
		return step{before, by, "complete_task", in{"taskId": "$" + name, "claimToken": "$" + name + "Token",
			"outcome": outcome, "result": result, "tokens_in": tokens, "tokens_out": tokens / 6, "cost_usd": usd}, ""}
	}
	return []step{
		task(at(9, 10), "architect", "Review the migration of payment attempts", "reviewer", "high",
			"Read `migrations/0042_attempts.sql`.\n\n- Is the unique index on **(order, attempt)** enough?\n- What happens on a rollback?",
			"migration"),
		claim(at(9, 0), "reviewer", "migration"),
		end(at(8, 20), "reviewer", "migration", "done", "The index is enough. The rollback drops data: a second step is needed.", 48200, 0.61),
		task(at(8, 30), "backend", "Load test of capture", "tester", "normal", "1,000 checkouts a minute for ten minutes.", "load"),
		claim(at(8, 0), "tester", "load"),
		end(at(6, 0), "tester", "load", "done", "1,200 a minute, no errors, p95 at 180 ms.", 22400, 0.28),
		task(at(5, 0), "release", "Build the staging image", "release", "normal", "From checkout-2.4.", "image"),
		claim(at(4, 50), "release", "image"),
		end(at(4, 20), "release", "image", "failed", "The registry refused the push: the quota of the month is used up.", 9100, 0.09),
		task(at(3, 0), "frontend", "Translate the payment errors", "frontend", "low", "German and French.", "translate"),
		claim(at(2, 0), "frontend", "translate"),
		{at(1, 30), "frontend", "update_task", in{"taskId": "$translate", "claimToken": "$translateToken", "status": "blocked",
			"note": "The words for *declined* need a person who knows the trade."}, ""},
		task(at(0, 40), "architect", "Capture must be idempotent", "backend", "high",
			"A second capture of the same attempt returns the first result.", "idempotent"),
		claim(at(0, 18), "backend", "idempotent"),
		task(at(0, 35), "reviewer", "Reproduce the double refund", "tester", "high", "See the thread *refunds*.", "double"),
		claim(at(0, 16), "tester", "double"),
		task(at(0, 30), "tester", "Fix the flaky login step", "frontend", "normal", "It fails one time in twenty.", "flaky"),
		task(at(0, 25), "architect", "Delete the old payment adapter", "any", "low", "Once capture is merged.", "adapter"),
		task(at(0, 22), "backend", "Review capture with retries", "reviewer", "normal", "Branch `capture-retries`.", "retries"),
		task(at(0, 20), "reviewer", "Document the refund endpoint", "backend", "low", "With an example of a partial refund.", "document"),
		task(at(0, 15), "release", "Approve the release notes of 2.4", "user", "normal",
			"They are in `notes/2.4.md`. What customers see first is the new error page.", "approve"),
	}
}
