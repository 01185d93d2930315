package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/identity"
	"parley.internal/shared/overview"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/task"
)

// claims releases the tasks that an ended session has claimed.
type claims struct{ queue *dispatch.Service }

// ReleaseSession implements pulse.Claims.
func (c claims) ReleaseSession(
	ctx context.Context,
	user, sessionID string,
	owns func(claimant string) bool,
	gone time.Time,
	reason string,
) (out []pulse.Released, err error) {
	for cursor, more := "", true; more; more = cursor != "" {
		var held []task.Claim
		if held, cursor, err = c.queue.Claims(ctx, user, sessionID, cursor); err != nil {
			return out, err
		}
		for _, h := range held {
			if !owns(h.Task.ClaimedBy) || !h.Task.StartedAt.Before(gone) {
				continue
			}
			if err := c.queue.Reclaim(ctx, user, h.ID, sessionID, gone, reason); err != nil {
				return out, err
			}
			out = append(out, pulse.Released{TaskID: h.ID, Title: h.Task.Title, Source: h.Task.Source})
		}
	}
	return out, nil
}

// atWork lists the live sessions for an overview.
type atWork struct{ *pulse.Service }

// Live implements overview.Sessions.
func (a atWork) Live(ctx context.Context, c identity.Caller, limit int) ([]overview.Session, error) {
	found, err := a.Service.Live(ctx, c, limit)
	out := make([]overview.Session, len(found))
	for i, v := range found {
		out[i] = overview.Session{
			ID:            v.SessionID,
			Name:          v.Name,
			Program:       v.ProgramID,
			State:         string(v.State),
			Status:        v.Status,
			Progress:      v.Progress,
			LastHeartbeat: v.LastHeartbeat,
		}
	}
	return out, err
}

// unread counts the unread mail of the known programs for an overview.
type unread struct {
	*relay.Service
	programs relay.Directory
}

// counted is the largest count of a program's messages, and maxBoxes the number of programs that are counted.
const (
	counted  = 100
	maxBoxes = 50
)

// Unread implements overview.Mail.
func (u unread) Unread(ctx context.Context, c identity.Caller) ([]overview.Unread, error) {
	programs, err := u.programs.Programs(ctx, c.User)
	if err != nil {
		return nil, err
	}
	out := []overview.Unread{}
	for _, p := range programs[:min(len(programs), maxBoxes)] {
		n, err := u.Waiting(ctx, c.User, p, counted)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, overview.Unread{Program: p, Count: n, More: n == counted})
		}
	}
	return out, nil
}

// Strays implements overview.Mail.
func (u unread) Strays(ctx context.Context, c identity.Caller) ([]overview.Unread, error) {
	found, err := u.Service.Strays(ctx, c.User, counted)
	if err != nil {
		return nil, err
	}
	out, all := []overview.Unread{}, 0
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all += found[name]
		out = append(out, overview.Unread{Program: name, Count: found[name]})
	}
	for i := range out {
		out[i].More = all == counted
	}
	return out, nil
}

// callers lists the programs that have called and never made a session. The list is up to a minute old, because it reads
// all keys.
type callers struct {
	perUser[[]overview.Caller]
}

// Without implements overview.Callers.
func (c *callers) Without(ctx context.Context, user string) ([]overview.Caller, error) {
	return c.get(ctx, user)
}

// without reads the programs that have called, and looks for a session of each.
func (a *App) without(ctx context.Context, user string) ([]overview.Caller, error) {
	used, err := a.Keys.LastCalls(ctx, user)
	if err != nil {
		return nil, err
	}
	programs := slices.SortedFunc(maps.Keys(used), func(p, q string) int { return used[q].Compare(used[p]) })
	out := []overview.Caller{}
	for _, p := range programs[:min(len(programs), maxBoxes)] {
		had, err := a.Pulse.Had(ctx, user, p)
		if err != nil {
			return nil, err
		}
		if !had {
			out = append(out, overview.Caller{Program: p, LastUsedAt: used[p]})
		}
	}
	return out, nil
}
