package chaos

import (
	"context"
	"errors"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/sleep"
)

const anyone = "any"

// longLease is a lease in seconds that does not end before the run does.
const longLease = 900

// createTask creates a task for another agent or for any agent.
func (a *agent) createTask(ctx context.Context) error {
	title, target := a.uniqueText("task"), a.peer().name
	args := map[string]any{"title": title, "instructions": "Do " + title, "idempotencyKey": title}
	switch {
	case a.percent(30):
		target = anyone
	case a.call.Toolsets != nil || !a.percent(60): // only callers over REST set a fallback
	default:
		args["fallback"] = []string{a.peer().name}
	}
	args["target"] = target
	var out struct{ TaskID string }
	_, ok, err := a.do(ctx, "create_task", 0, args, &out)
	if ok {
		if a.book.Created(out.TaskID, title, target); target == anyone {
			a.crew.announce(out.TaskID)
		}
	}
	return err
}

// findTask returns the id of a task to claim, empty if there is none: one of the agent's queue, or an announced task
// that several agents try to claim.
func (a *agent) findTask(ctx context.Context) (string, error) {
	if a.percent(30) {
		return a.crew.announced(a.random), nil
	}
	var queue struct{ Tasks []struct{ ID string } }
	wait := a.wait()
	args := map[string]any{"target": a.name, "type": "task", "limit": 10, "waitMs": wait.Milliseconds(),
		"includeInstructions": false}
	if _, ok, err := a.do(ctx, "get_tasks", wait, args, &queue); !ok || len(queue.Tasks) == 0 {
		return "", err
	}
	return queue.Tasks[a.random.IntN(len(queue.Tasks))].ID, nil
}

// work claims a task and in most cases completes it. Otherwise it releases the task or abandons the claim.
func (a *agent) work(ctx context.Context) error {
	id, err := a.findTask(ctx)
	if id == "" || err != nil {
		return err
	}
	session := a.uniqueText("session")
	abandon := a.percent(8)
	lease := longLease
	if abandon {
		lease = 30
	}
	claim, got, err := a.claim(ctx, id, session, lease)
	if !got || abandon {
		return err
	}
	if err := pause(ctx, time.Duration(a.random.IntN(300))*time.Millisecond); err != nil {
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

// pause waits for d, or fails with the cause of ctx if that ends first.
func pause(ctx context.Context, d time.Duration) error {
	if sleep.For(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// claim claims a task and reports whether the agent got it.
func (a *agent) claim(ctx context.Context, id, session string, lease int) (c witness.Claim, got bool, err error) {
	var out struct {
		ClaimToken int64
		ClaimedBy  string
		LeaseUntil time.Time
	}
	args := map[string]any{"taskId": id, "sessionId": session, "leaseSeconds": lease}
	call, err := a.call.Do(ctx, "claim_task", 0, args, &out)
	var refused *caller.Refusal
	switch {
	case errors.As(err, &refused) && precondition(refused):
		a.crew.calls.Refused(a.number, span(call), id)
		a.book.ClaimRefused(id, a.name, session, refused.RequestID, refused.Message)
		return c, false, nil
	case refused != nil:
		a.noteRefusal(refused)
		return c, false, nil
	case err != nil:
		return c, false, err
	}
	c = witness.Claim{Task: id, Agent: a.name, Session: session, Token: out.ClaimToken, Told: call.Ended(),
		Until: out.LeaseUntil, RequestID: call.RequestID()}
	a.crew.calls.Claimed(a.number, span(call), id, out.ClaimToken, lease < longLease)
	if a.book.Claimed(c); out.ClaimedBy != a.name {
		a.book.Violate(witness.Exclusive, call.RequestID(), "%s claimed task %s, but the answer names %s as its claimant",
			a.name, id, out.ClaimedBy)
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

// release releases a task. If an earlier attempt may have released it, a refusal of the next one is expected.
func (a *agent) release(ctx context.Context, c witness.Claim) error {
	a.book.Ending(c.Task, c.Session, time.Now())
	var out struct{ Status string }
	args := map[string]any{"taskId": c.Task, "claimToken": c.Token, "reason": "not now"}
	call, err := a.call.Do(ctx, "release_task", 0, args, &out)
	var refused *caller.Refusal
	switch {
	case errors.As(err, &refused) && precondition(refused) && len(call.Unsure()) > 0:
	case refused != nil:
		a.noteRefusal(refused)
		return nil
	case err != nil:
		return err
	}
	a.crew.calls.Released(a.number, span(call), c.Task, c.Token)
	a.book.Released(c.Task, c.Session)
	return nil
}

func (a *agent) complete(ctx context.Context, c witness.Claim) error {
	a.book.Ending(c.Task, c.Session, time.Now())
	result := a.uniqueText("result")
	var out struct{ Status, Result string }
	args := map[string]any{"taskId": c.Task, "claimToken": c.Token, "result": result, "tokens_in": 3}
	call, ok, err := a.do(ctx, "complete_task", 0, args, &out)
	if ok {
		a.crew.calls.Completed(a.number, span(call), c.Task, c.Token)
		a.book.Completed(witness.Completion{Task: c.Task, Agent: a.name, Result: result, Token: c.Token,
			RequestID: call.RequestID()})
	}
	return err
}
