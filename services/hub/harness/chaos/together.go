package chaos

import (
	"context"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/shared/team"
)

// inTeam calls an operation on the agent's team.
func (a *agent) inTeam(
	ctx context.Context, op string, wait time.Duration, args map[string]any, out any,
) (caller.Call, bool, error) {
	args["team_name"] = a.circle.team
	return a.do(ctx, op, wait, args, out)
}

// teamTask creates a task of the team, assigns it to a member and in most cases advances its status.
func (a *agent) teamTask(ctx context.Context) error {
	subject, owner := a.uniqueText("subject"), a.teammate().seat
	var made struct{ ID string }
	task := map[string]any{"subject": subject, "description": "Do " + subject, "idempotencyKey": subject}
	_, ok, err := a.inTeam(ctx, "team_task_create", 0, task, &made)
	if !ok {
		return err
	}
	a.book.TeamTask(a.circle.team, made.ID, subject, "pending", "")
	steps := []map[string]any{{"owner": owner}, {"status": "in_progress"}, {"status": "completed"}}
	status := "pending"
	for _, args := range steps[:1+a.random.IntN(3)] {
		args["task_id"] = made.ID
		var out struct{ Status, Owner string }
		if _, ok, err := a.inTeam(ctx, "team_task_update", 0, args, &out); !ok {
			return err
		}
		if s, set := args["status"].(string); set {
			status = s
		}
		a.book.TeamTask(a.circle.team, made.ID, subject, status, owner)
	}
	return nil
}

// heartbeat says that the agent is alive: after 10 minutes without one a teammate's tasks would go back. The lead has no
// lease.
func (a *agent) heartbeat(ctx context.Context) error {
	if a.seat == team.Lead {
		return nil
	}
	var out struct{ Active bool }
	_, _, err := a.inTeam(ctx, "team_heartbeat", 0, map[string]any{"agent_name": a.seat}, &out)
	return err
}

// sendTeamMessage sends a message to a member of the team.
func (a *agent) sendTeamMessage(ctx context.Context) error {
	body, to := a.uniqueText("team message"), a.teammate().seat
	var out struct{ Success bool }
	args := map[string]any{"type": "message", "recipient": to, "content": body, "summary": "summary",
		"idempotencyKey": body}
	_, ok, err := a.inTeam(ctx, "team_send_message", 0, args, &out)
	if ok {
		a.book.TeamSent(a.circle.team, to, body)
	}
	return err
}

type teamMessages struct {
	Messages []struct {
		ID, Text string
		Read     bool
	}
	NextCursor string
}

// teamInbox reads the new messages of the agent's inbox in the team, which marks them as read.
func (a *agent) teamInbox(ctx context.Context) error {
	op, wait, args := "team_read_inbox", time.Duration(0), map[string]any{"agent_name": a.seat}
	if a.percent(50) {
		op, wait = "team_poll_inbox", time.Duration(a.random.IntN(2))*200*time.Millisecond
		args["timeout_ms"] = wait.Milliseconds()
	} else {
		args["unread_only"] = true
	}
	_, _, err := a.readTeam(ctx, op, wait, args)
	return err
}

// readTeam reads a page of the inbox.
func (a *agent) readTeam(
	ctx context.Context, op string, wait time.Duration, args map[string]any,
) (out teamMessages, ok bool, err error) {
	if args["mark_as_read"] == nil {
		release, err := a.run.limits.acquire(ctx, teamMail)
		if err != nil {
			return out, false, err
		}
		defer release()
	}
	call, ok, err := a.inTeam(ctx, op, wait, args, &out)
	for range call.Unsure() {
		a.book.TeamLostRead(a.circle.team, a.seat)
	}
	for _, m := range out.Messages {
		a.book.TeamRead(a.circle.team, a.seat, m.ID, m.Text, call.RequestID(), !m.Read)
	}
	return out, ok, err
}

// drainTeam reads the new messages and then the whole inbox.
func (a *agent) drainTeam(ctx context.Context) error {
	for known := map[string]bool{}; ; {
		args := map[string]any{"agent_name": a.seat, "unread_only": true, "limit": 100}
		out, ok, err := a.readTeam(ctx, "team_read_inbox", 0, args)
		if !ok {
			return err
		}
		before := len(known)
		for _, m := range out.Messages {
			known[m.ID] = true
		}
		if len(known) == before {
			break
		}
	}
	for args := (map[string]any{"agent_name": a.seat, "mark_as_read": false, "limit": 100}); ; {
		out, ok, err := a.readTeam(ctx, "team_read_inbox", 0, args)
		if !ok || out.NextCursor == "" {
			return err
		}
		args["cursor"] = out.NextCursor
	}
}

// postToFire posts a message to the campfire.
func (a *agent) postToFire(ctx context.Context) error {
	text := a.uniqueText("fire message")
	var out struct{ Seq int64 }
	args := map[string]any{"fireId": a.circle.fire, "text": text, "idempotencyKey": text}
	call, ok, err := a.do(ctx, "campfire_post_message", 0, args, &out)
	if ok {
		a.book.FirePosted(a.circle.fire, out.Seq, a.name, text, call.RequestID())
	}
	return err
}

// readFire waits for the next page of the campfire and reads it.
func (a *agent) readFire(ctx context.Context) error {
	_, err := a.follow(ctx, a.wait())
	return err
}

// follow reads the page after the agent's cursor and returns the number of messages in it.
func (a *agent) follow(ctx context.Context, wait time.Duration) (n int, err error) {
	args := map[string]any{"fireId": a.circle.fire, "waitMs": wait.Milliseconds(), "limit": 50}
	if a.cursor != "" {
		args["cursor"] = a.cursor
	}
	var out struct {
		Messages []struct {
			Seq          int64
			Author, Text string
		}
		NextCursor string
	}
	call, ok, err := a.do(ctx, "campfire_list_messages", wait, args, &out)
	if !ok {
		return 0, err
	}
	a.cursor = out.NextCursor
	for _, m := range out.Messages {
		a.book.FireRead(a.circle.fire, a.name, m.Seq, call.RequestID())
		a.book.FirePosted(a.circle.fire, m.Seq, m.Author, m.Text, call.RequestID())
	}
	return len(out.Messages), nil
}

// drainFire reads the campfire to its end.
func (a *agent) drainFire(ctx context.Context) error {
	for {
		if n, err := a.follow(ctx, 0); n == 0 || err != nil {
			return err
		}
	}
}

// ask asks the human and waits for the answer.
func (a *agent) ask(ctx context.Context) error {
	content := a.uniqueText("question")
	type answer struct{ QuestionID, Status, Response string }
	var out answer
	wait := a.wait()
	args := map[string]any{"question": content, "idempotencyKey": content, "waitMs": wait.Milliseconds()}
	call, ok, err := a.do(ctx, "ask_question", wait, args, &out)
	if !ok {
		return err
	}
	id := out.QuestionID
	a.book.Asked(id, a.name, content)
	for out.Status != "answered" {
		out = answer{}
		args = map[string]any{"questionId": id, "waitMs": 5000}
		if call, ok, err = a.do(ctx, "get_response", 5*time.Second, args, &out); !ok {
			return err
		}
	}
	a.book.AnswerRead(id, out.Response, call.RequestID())
	return nil
}
