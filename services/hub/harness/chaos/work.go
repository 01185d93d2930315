package chaos

import (
	"context"
	"errors"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/witness"
)

const anyone = "any"

// createTask puts a task into a queue, others' or everybody's.
func (a *agent) createTask(ctx context.Context) error {
	title, target := a.label("task"), a.peer().name
	args := map[string]any{"title": title, "instructions": "Do " + title, "idempotencyKey": title}
	switch {
	case a.percent(30):
		target = anyone
	case a.call.Toolsets != nil || !a.percent(60): // a list is no matter for a query
	default:
		args["fallback"] = []string{a.peer().name}
	}
	args["target"] = target
	var out struct{ TaskID string }
	_, ok, err := a.do(ctx, "create_task", 0, args, &out)
	if ok {
		if a.book.Created(out.TaskID, title, target); target == anyone {
			a.crew.rumour(out.TaskID)
		}
	}
	return err
}

// find is a task to take up, empty where there is none: of the agent's queue, or one
// that all talk about, so that agents meet at it.
func (a *agent) find(ctx context.Context) (string, error) {
	if a.percent(30) {
		return a.crew.heard(a.chance), nil
	}
	var queue struct{ Tasks []struct{ ID string } }
	wait := a.wait()
	args := map[string]any{"target": a.name, "type": "task", "limit": 10, "waitMs": wait.Milliseconds(), "includeInstructions": false}
	if _, ok, err := a.do(ctx, "get_tasks", wait, args, &queue); !ok || len(queue.Tasks) == 0 {
		return "", err
	}
	return queue.Tasks[a.chance.IntN(len(queue.Tasks))].ID, nil
}

// work takes a task up, and mostly ends it.
func (a *agent) work(ctx context.Context) error {
	id, err := a.find(ctx)
	if id == "" || err != nil {
		return err
	}
	session := a.label("session")
	leave := a.percent(8)
	lease := 900
	if leave {
		lease = 30
	}
	claim, got, err := a.claim(ctx, id, session, lease)
	if !got || leave {
		return err
	}
	if err := think(ctx, time.Duration(a.chance.IntN(300))*time.Millisecond); err != nil {
		return err
	}
	if a.percent(25) {
		if err := a.renew(ctx, claim); err != nil {
			return err
		}
	}
	if a.percent(15) {
		return a.release(ctx, claim)
	}
	return a.complete(ctx, claim)
}

// think is what an agent does between two calls.
func think(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// claim takes a task. got says that it is the agent's.
func (a *agent) claim(ctx context.Context, id, session string, lease int) (c witness.Claim, got bool, err error) {
	var out struct {
		ClaimToken int64
		ClaimedBy  string
		LeaseUntil time.Time
	}
	call, err := a.call.Do(ctx, "claim_task", 0, map[string]any{"taskId": id, "sessionId": session, "leaseSeconds": lease}, &out)
	var refused *caller.Refusal
	switch {
	case errors.As(err, &refused) && precondition(refused):
		a.book.Outdone(id, a.name, session, refused.RequestID, refused.Message)
		return c, false, nil
	case refused != nil:
		a.strange(refused)
		return c, false, nil
	case err != nil:
		return c, false, err
	}
	c = witness.Claim{Task: id, Agent: a.name, Session: session, Token: out.ClaimToken, Told: call.Ended(), Until: out.LeaseUntil, RequestID: last(call)}
	if a.book.Claimed(c); out.ClaimedBy != a.name {
		a.book.Violate(witness.Exclusive, last(call), "%s claimed task %s and was told that %s has it", a.name, id, out.ClaimedBy)
		return c, false, nil
	}
	return c, true, nil
}

func (a *agent) renew(ctx context.Context, c witness.Claim) error {
	var out struct{ LeaseUntil time.Time }
	_, ok, err := a.do(ctx, "renew_claim", 0, map[string]any{"taskId": c.Task, "claimToken": c.Token}, &out)
	if ok {
		a.book.Renewed(c.Task, c.Session, out.LeaseUntil)
	}
	return err
}

// release gives a task back. A repetition finds that it was given back already.
func (a *agent) release(ctx context.Context, c witness.Claim) error {
	a.book.Ending(c.Task, c.Session, time.Now())
	var out struct{ Status string }
	call, err := a.call.Do(ctx, "release_task", 0, map[string]any{"taskId": c.Task, "claimToken": c.Token, "reason": "not now"}, &out)
	var refused *caller.Refusal
	switch {
	case errors.As(err, &refused) && precondition(refused) && len(call.Unsure()) > 0:
	case refused != nil:
		a.strange(refused)
		return nil
	case err != nil:
		return err
	}
	a.book.Released(c.Task, c.Session)
	return nil
}

func (a *agent) complete(ctx context.Context, c witness.Claim) error {
	a.book.Ending(c.Task, c.Session, time.Now())
	result := a.label("result")
	var out struct{ Status, Result string }
	call, ok, err := a.do(ctx, "complete_task", 0, map[string]any{"taskId": c.Task, "claimToken": c.Token, "result": result, "tokens_in": 3}, &out)
	if ok {
		a.book.Completed(witness.Completion{Task: c.Task, Agent: a.name, Result: result, Token: c.Token, RequestID: last(call)})
	}
	return err
}
