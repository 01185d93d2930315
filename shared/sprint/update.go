package sprint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Update applies a report on a story: it takes the story up, renews its lease, records progress,
// or ends it. Of several concurrent callers that take up a story one succeeds; for the others, as
// for every report that the state of the story does not allow, it is Precondition. A report on a
// story that another caller holds is Forbidden, but for its cancellation by the creator, of which the
// holder is told. A story that does not exist is NotFound.
func (s *Service) Update(ctx context.Context, c identity.Caller, in UpdateInput) (UpdateOutput, error) {
	now, newID, u := s.Now(), s.NewID(), s.DB.User(c.User)
	r := report{to: status(in.Status), progress: in.Progress, currentAction: in.CurrentAction, model: in.Model,
		fence: task.Fence{Token: in.ClaimToken, SessionID: in.SessionID}}
	if r.to == task.Active {
		// This read is outside the transaction, which would otherwise lock stories that others
		// report on. An open wave closes only if a story of an earlier wave is queued again or
		// added; taking a story up just before that is allowed too.
		var err error
		if r.openWave, err = openWaveOf(ctx, u, in.SprintID); err != nil {
			return UpdateOutput{}, err
		}
	}
	var out UpdateOutput
	var done turn
	err := u.Update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		out, done, err = s.report(ctx, tx, c, in, r, now, newID)
		return err
	})
	if err != nil {
		return UpdateOutput{}, err
	}
	if done.ended {
		// A fault is ignored: the report is committed, and readers of the sprint count its
		// stories themselves.
		if over, err := s.beginCompletion(ctx, u, in.SprintID); err == nil && over {
			out.Sprint = task.Completing
		}
	}
	return out, nil
}

// report is the transaction of an update. The alert or the message that it creates gets the id newID.
func (s *Service) report(ctx context.Context, tx *store.Tx, c identity.Caller, in UpdateInput, r report, now time.Time,
	newID string) (UpdateOutput, turn, error) {
	var t, parent task.Task
	var lease task.Lease
	id := docID(in.SprintID, in.StoryID)
	fetches := []*store.Fetch{task.Tasks.Fetch(id, &t), task.Leases.Fetch(id, &lease)}
	pausable := r.to == task.Active && len(c.Pauses) > 0
	if r.to == task.Created || r.to == task.Derezzed || pausable {
		fetches = append(fetches, task.Tasks.Fetch(in.SprintID, &parent))
	}
	over := func() (bool, time.Time) { return false, time.Time{} }
	if r.to == task.Active && r.fence.SessionID != "" && s.Sessions != nil {
		sessions, read := s.Sessions.Life(c.Program, r.fence.SessionID)
		fetches, over = append(fetches, sessions...), read
	}
	if err := store.Load(ctx, tx, fetches...); err != nil {
		return UpdateOutput{}, turn{}, err
	}
	r.over, _ = over()
	if !isStory(fetches[0].Found, &t, in.SprintID, in.StoryID) {
		return UpdateOutput{}, turn{}, fault.New(fault.NotFound, "no story %q in a sprint with id %q", in.StoryID,
			in.SprintID)
	}
	if pausable && parent.Sprint != nil {
		if err := c.Paused("", parent.Sprint.ProjectName); err != nil {
			return UpdateOutput{}, turn{}, err
		}
	}
	r.sprint = parent.Status
	done, err := apply(&t, lease, c, r, now)
	if errors.Is(err, errWaits) {
		err = waiting(ctx, tx, &t)
	}
	if err != nil {
		return UpdateOutput{}, turn{}, err
	}
	// A holder without a program has no inbox.
	holder := ""
	if done.cancelled && s.Mail != nil && identity.ValidName(t.ClaimedBy) && !isHolder(&t, c) {
		if holder, err = s.Mail.Inbox(ctx, tx, t.ClaimedBy, t.SessionID); err != nil {
			return UpdateOutput{}, turn{}, err
		}
	}
	out := UpdateOutput{SprintID: in.SprintID, Story: view(t), Retried: done.retried, Escalated: done.escalated}
	if done.held {
		out.LeaseUntil, out.ClaimToken, out.SessionID = now.Add(LeaseFor), t.ClaimToken, t.SessionID
	}
	done.write(tx, in.SprintID, id, t, fetches[1].Found, out.LeaseUntil)
	if done.escalated && done.changed { // a repeated report alerts nobody again
		out.AlertID = newID
		task.Tasks.Create(tx, newID, alert(c, in.SprintID, &t, now))
	}
	if holder != "" {
		s.Mail.Notify(tx, newID, holder, fmt.Sprintf("The story %q (%s of sprint %s), which you hold, was cancelled by "+
			"%s. Stop working on it.", t.Title, in.StoryID, in.SprintID, c.Actor()), now)
	}
	return out, done, nil
}

// write stores a story after a turn, with its lease until the given time, and reports its completion to its dependents.
func (done *turn) write(tx *store.Tx, sprint, id string, t task.Task, leased bool, until time.Time) {
	if done.changed {
		task.Tasks.Put(tx, id, t)
	}
	switch {
	case done.held:
		task.Leases.Put(tx, id, task.Lease{ClaimToken: t.ClaimToken, ClaimedBy: t.ClaimedBy, SessionID: t.SessionID,
			LeaseUntil: until})
	case done.changed && leased:
		task.Leases.Delete(tx, id)
	}
	if done.completed {
		for _, d := range t.Sprint.Dependents {
			task.Tasks.Patch(tx, docID(sprint, d), store.Add("waits", -1))
		}
	}
}

// waiting returns Precondition with the names of the open dependencies of a story.
func waiting(ctx context.Context, tx *store.Tx, t *task.Task) error {
	p := t.Sprint
	on, fetches := make([]task.Task, len(p.Dependencies)), make([]*store.Fetch, len(p.Dependencies))
	for i, d := range p.Dependencies {
		fetches[i] = task.Tasks.Fetch(docID(p.ParentID, d), &on[i])
	}
	if err := store.Load(ctx, tx, fetches...); err != nil {
		return err
	}
	var names []string
	for i, d := range p.Dependencies {
		if on[i].Status != task.Done {
			names = append(names, fmt.Sprintf("%s (%s)", d, word(on[i].Status)))
		}
	}
	return fault.New(fault.Precondition, "story %q waits for %s; get_sprint says what is ready", p.StoryID,
		strings.Join(names, ", "))
}

// alertFor is the lifetime of the alert of an escalation. The story stays blocked after it.
const alertFor = 7 * 24 * time.Hour

// alert returns the alert to the human about a story whose retries are used up.
func alert(c identity.Caller, sprintID string, t *task.Task, now time.Time) task.Task {
	p := t.Sprint
	a := task.Task{Type: task.Alert, Title: fmt.Sprintf("Story %s has %s and is blocked", p.StoryID,
		failed(p.Retries+1)), Status: task.Created,
		Instructions: fmt.Sprintf("Story %s of sprint %s has %s, and its wave waits for it. "+
			"Set it to queued to have it tried again, or to skipped to go on without it.",
			p.StoryID, sprintID, failed(p.Retries+1)),
		Priority: task.High, Source: c.Program, Verified: c.Bound(), Maker: c.Owner(), Target: "user", AlertType: "error",
		Context: t.Title, ReplyTo: docID(sprintID, p.StoryID), CreatedAt: now, ExpiresAt: now.Add(alertFor)}
	if p.CurrentAction != "" {
		a.Context += "\nLast reported: " + p.CurrentAction
	}
	a.Route()
	return a
}

// StoryEnded gives a sprint the status completing if all its stories have ended. Code that ends a
// story without [Service.Update] must call it. It is idempotent, and does nothing for a sprint
// that does not exist.
func (s *Service) StoryEnded(ctx context.Context, user, sprintID string) error {
	_, err := s.beginCompletion(ctx, s.DB.User(user), sprintID)
	return err
}

// beginCompletion does the work of [Service.StoryEnded], and reports whether all stories have ended.
func (s *Service) beginCompletion(ctx context.Context, u *store.Tenant, sprintID string) (over bool, err error) {
	// Most stories are not the last, and this read spares them the transaction.
	if open, err := openWaveOf(ctx, u, sprintID); err != nil || open > 0 {
		return false, err
	}
	err = u.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		over = false
		open, err := openWaveOf(ctx, tx, sprintID)
		if err != nil || open > 0 {
			return err
		}
		parent, err := task.Tasks.Get(ctx, tx, sprintID)
		if fault.Is(err, fault.NotFound) || (err == nil && !isSprint(true, &parent)) {
			return nil
		}
		if err != nil {
			return err
		}
		over = true
		if parent.Status != task.Active {
			return nil
		}
		if err := task.Move(parent.Type, parent.Status, task.Completing); err != nil {
			return err
		}
		parent.Status = task.Completing
		parent.Route()
		task.Tasks.Put(tx, sprintID, parent)
		return nil
	})
	return over && err == nil, err
}
