package overview

import (
	"cmp"
	"context"
	"slices"

	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

// queues counts the tasks that wait in each queue, and the claimed tasks of that queue. more means that more tasks wait
// than were counted.
func (s *Service) queues(ctx context.Context, c identity.Caller, claims []Claim) (out []Queue, more bool, err error) {
	docs, err := s.tasks(ctx, c, maxCounted, []string{task.Everywhere}, task.Created)
	if err != nil {
		return nil, false, err
	}
	out, now, at := []Queue{}, s.Now(), map[string]int{}
	of := func(target string) *Queue {
		i, known := at[identity.Fold(target)]
		if !known {
			i = len(out)
			at[identity.Fold(target)] = i
			out = append(out, Queue{Target: target})
		}
		return &out[i]
	}
	for _, d := range docs {
		if d.Value.Type == task.Question || d.Value.Expired(now) {
			continue
		}
		q := of(d.Value.Target)
		q.Waiting++
		if q.Oldest.IsZero() || d.Value.CreatedAt.Before(q.Oldest) {
			q.Oldest = d.Value.CreatedAt
		}
	}
	for _, held := range claims {
		if !held.Type.Apart() {
			of(held.Target).Active++
		}
	}
	slices.SortFunc(out, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Target, b.Target))
	})
	return out[:min(len(out), maxShown)], len(docs) == maxCounted, nil
}

// alerts returns the alerts that nobody has acknowledged.
func (s *Service) alerts(ctx context.Context, c identity.Caller) ([]Alert, error) {
	out, now := []Alert{}, s.Now()
	docs, err := s.tasks(ctx, c, maxShown, []string{task.TypeRoute(task.Alert, task.Everywhere)}, task.Created)
	for _, d := range docs {
		if t := d.Value; !t.Expired(now) {
			out = append(out, Alert{ID: d.ID, AlertType: t.AlertType, Title: t.Title, Source: t.Source, CreatedAt: t.CreatedAt})
		}
	}
	return out, err
}

// callers returns the programs that have called and never made a session. A session that the view shows counts at once.
func (s *Service) callers(ctx context.Context, c identity.Caller, live []Session) ([]Caller, error) {
	found, err := s.Callers.Without(ctx, c.User)
	out := []Caller{}
	for _, p := range found {
		if !slices.ContainsFunc(live, func(s Session) bool { return identity.Same(s.Program, p.Program) }) {
			out = append(out, p)
		}
	}
	return out, err
}
