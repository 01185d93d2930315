package pulse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Sweeps returns the steps of the domain in the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Sessions, Name: "sessions", Takes: true, Run: s.SweepSessions}}
}

// Released is a claimed task that went back to the queue.
type Released struct{ TaskID, Title, Source string }

// Claims releases the claims of a session that has ended.
type Claims interface {
	// ReleaseSession releases the claims that name the session, were made before the time gone and
	// are still held, and returns their tasks. Claims made after gone stay, and those whose claimant
	// does not own the session: any claim may give its id. It is idempotent.
	ReleaseSession(ctx context.Context, user, sessionID string, owns func(claimant string) bool, gone time.Time,
		reason string) ([]Released, error)
}

// Mail sends messages to programs.
type Mail interface {
	// Tell adds a text to a program's inbox. A repeated call with the same id adds no second
	// message.
	Tell(ctx context.Context, user, id, program, text string) error
	// Forward moves the unread messages of a session's address to the inbox of its program. It is idempotent.
	Forward(ctx context.Context, user, address string) error
}

// SweepSessions ends at most limit silent sessions: it archives each, releases its claims and
// sends a message to the program of each task. It returns the number of sessions that it handled;
// without an error, fewer than limit means that none is left. The failure of one session does not
// stop the others. It may be interrupted and run again at any point.
func (s *Service) SweepSessions(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	silent := now.Add(-s.staleAfter())
	due, _, err := heartbeats.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le("at", silent)},
		Order: []string{"at"}, Limit: limit})
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, d := range due {
		if err := s.expire(ctx, a.User(d.Ref.User), d.Ref, silent, now); err != nil {
			failed = append(failed, err)
		}
	}
	return len(due) - len(failed), errors.Join(failed...)
}

// expire ends one session, gives back its claims and forwards its mail. It deletes the heartbeat last: until then another
// run finds the session and repeats the steps, each of which is idempotent. A session that is revived meanwhile has a
// new heartbeat, and keeps the claims that are not released yet.
func (s *Service) expire(ctx context.Context, t *store.Tenant, at store.Ref, silent, now time.Time) error {
	v, err := end(ctx, t, at.ID, silent, now)
	if err != nil || v == nil {
		return err
	}
	if err := s.handBack(ctx, t, at, v); err != nil {
		return err
	}
	if v.ProgramID != "" {
		if err := s.forward(ctx, at.User, v.ProgramID, v.id(at.ID)); err != nil {
			return err
		}
	}
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		beat, err := heartbeats.Get(ctx, tx, at.ID)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err == nil && !beat.At.After(silent) {
			heartbeats.Delete(tx, at.ID)
		}
		return err
	})
}

// end archives a session that is still silent and returns it, or nil if there is nothing to do. A
// session that an earlier run has archived is returned as it is.
func end(ctx context.Context, t *store.Tenant, id string, silent, now time.Time) (*Session, error) {
	var ended *Session
	err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		ended = nil
		var v Session
		var beat Heartbeat
		session, heart := sessions.Fetch(id, &v), heartbeats.Fetch(id, &beat)
		if err := store.Load(ctx, tx, session, heart); err != nil {
			return err
		}
		if !heart.Found || beat.At.After(silent) {
			return nil
		}
		if !session.Found {
			heartbeats.Delete(tx, id)
			return nil
		}
		ended = &v
		if v.Archived {
			return nil
		}
		if err := v.step(task.Derezzed, now); err != nil {
			return err
		}
		v.UpdatedAt, v.LastHeartbeat = now, beat.At
		sessions.Put(tx, id, v)
		archive.Put(tx, recordID(id, v.Life), Record{Session: v, SessionID: v.id(id)})
		return nil
	})
	return ended, err
}

// heldPage is the number of claims in one page.
const heldPage = 100

// handBack sends messages to the programs that wait for the session's tasks, and then releases its
// claims. The order matters: a released claim no longer names its session.
func (s *Service) handBack(ctx context.Context, t *store.Tenant, at store.Ref, v *Session) error {
	told := map[string]bool{}
	tell := func(r Released) error {
		if r.Source == "" || told[r.TaskID] {
			return nil
		}
		told[r.TaskID] = true
		return s.Mail.Tell(ctx, at.User, noticeID(at.ID, v.Life, r.TaskID), r.Source, notice(v.id(at.ID), v, r))
	}
	q := store.Query{Where: []store.Cond{store.In("sessionId", v.names(at.ID)...)}, Limit: heldPage}
	for {
		held, next, err := held(ctx, t, q, v)
		if err != nil {
			return err
		}
		for _, r := range held {
			if err := tell(r); err != nil {
				return err
			}
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	reason := fmt.Sprintf("session %s was last heard of at %s", v.id(at.ID), v.LastHeartbeat.Format(time.RFC3339))
	for _, name := range v.names(at.ID) {
		released, err := s.Claims.ReleaseSession(ctx, at.User, name, v.owns, v.UpdatedAt, reason)
		if err != nil {
			return err
		}
		for _, r := range released { // includes claims made after the listing
			if err := tell(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// held returns a page of the tasks that an ended session claimed before its end and holds.
func held(ctx context.Context, t *store.Tenant, q store.Query, v *Session) (out []Released, next string, err error) {
	page, err := task.Leases.Query(ctx, t, q)
	if err != nil || len(page.Docs) == 0 {
		return nil, "", err
	}
	tasks, fetches := make([]task.Task, len(page.Docs)), make([]*store.Fetch, len(page.Docs))
	for i, d := range page.Docs {
		fetches[i] = task.Tasks.Fetch(d.ID, &tasks[i])
	}
	if err := store.Load(ctx, t, fetches...); err != nil {
		return nil, "", err
	}
	for i, d := range page.Docs {
		if v.owns(tasks[i].ClaimedBy) && tasks[i].StartedAt.Before(v.UpdatedAt) {
			out = append(out, Released{TaskID: d.ID, Title: tasks[i].Title, Source: tasks[i].Source})
		}
	}
	return out, page.Next, nil
}

// notice returns the message about a task. Its text is true whether or not the session is revived
// before its claims are released.
func notice(id string, v *Session, r Released) string {
	return fmt.Sprintf("The session %q (%s), which holds your task %q (%s), was last heard of at %s and has been ended. "+
		"Unless it comes back at once, the task is released for another claim.",
		v.Name, id, r.Title, r.TaskID, v.LastHeartbeat.Format(time.RFC3339))
}
