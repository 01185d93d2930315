package hook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// claimTitle is the length of a task's title in a claim, in characters.
const claimTitle = 100

// holdings are the claims that a session holds, and the news of claims that it is told.
type holdings struct {
	now  []known
	told []wire.Claim
	// Only is the task that the session holds if it holds one.
	only string
}

// holdings reads the tasks that the session holds or knew of. all asks for all claims that it holds; otherwise told has
// the changes since the last call.
func (s *Service) holdings(ctx context.Context, c identity.Caller, l *link, leases []store.Doc[task.Lease], all bool) (
	out holdings, err error,
) {
	ids := make([]string, 0, len(leases)+len(l.Told))
	for _, d := range leases {
		ids = append(ids, d.ID)
	}
	for _, k := range l.Told {
		if !slices.Contains(ids, k.TaskID) {
			ids = append(ids, k.TaskID)
		}
	}
	tasks, err := loadTasks(ctx, s.DB.User(c.User), ids)
	if err != nil {
		return out, err
	}
	for _, d := range leases {
		t := tasks[d.ID]
		if t == nil || !identity.Same(t.ClaimedBy, c.Program) || t.Status.Ended() {
			continue
		}
		now := known{TaskID: d.ID, Token: d.Value.ClaimToken, Status: t.Status}
		out.now = append(out.now, now)
		i := slices.IndexFunc(l.Told, func(k known) bool { return k.TaskID == d.ID })
		if all || i >= 0 && l.Told[i] != now {
			out.told = append(out.told, wire.Claim{TaskID: d.ID, Title: line(t.Title, claimTitle), Status: string(t.Status),
				ClaimToken: d.Value.ClaimToken, LeaseUntil: d.Value.LeaseUntil})
		}
	}
	slices.SortFunc(out.now, func(a, b known) int { return strings.Compare(a.TaskID, b.TaskID) })
	if len(out.now) == 1 {
		out.only = out.now[0].TaskID
	}
	for _, k := range lost(l, out.now) {
		if why := whyLost(tasks[k.TaskID], c); why != "" {
			claim := wire.Claim{TaskID: k.TaskID, Lost: why}
			if t := tasks[k.TaskID]; t != nil {
				claim.Title, claim.Status = line(t.Title, claimTitle), string(t.Status)
			}
			out.told = append(out.told, claim)
		}
	}
	return out, nil
}

// lost returns the claims that a session knows of and does not hold any more.
func lost(l *link, now []known) (gone []known) {
	for _, k := range l.Told {
		if !slices.ContainsFunc(now, func(n known) bool { return n.TaskID == k.TaskID }) {
			gone = append(gone, k)
		}
	}
	return gone
}

// whyLost returns the reason for which a claim is not held any more. It is empty where the caller ended the task
// itself.
func whyLost(t *task.Task, c identity.Caller) string {
	switch {
	case t == nil:
		return "the task is not there any more"
	case t.CancelledBy != "":
		return fmt.Sprintf("%s cancelled it", t.CancelledBy)
	case t.Status.Ended() && identity.Same(t.EndedBy, c.Actor()):
		return ""
	case t.Status.Ended():
		return strings.TrimSuffix(fmt.Sprintf("it ended as %s: %s", t.Status, line(t.Reason, claimTitle)), ": ")
	case t.Status == task.Created && t.Reason != "":
		return "it is back in the queue: " + line(t.Reason, claimTitle)
	case t.Status == task.Created:
		return "it is back in the queue: released, or its lease ran out"
	}
	return "it is claimed by " + identity.Address(t.ClaimedBy, t.SessionID)
}

// loadTasks reads tasks by their ids. Those that are missing are nil.
func loadTasks(ctx context.Context, r store.Reader, ids []string) (map[string]*task.Task, error) {
	out := make(map[string]*task.Task, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	all, fetches := make([]task.Task, len(ids)), make([]*store.Fetch, len(ids))
	for i, id := range ids {
		fetches[i] = task.Tasks.Fetch(id, &all[i])
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return nil, err
	}
	for i, id := range ids {
		if fetches[i].Found {
			out[id] = &all[i]
		}
	}
	return out, nil
}

// release gives back all claims of a session that ends. One that cannot go back to the queue, such as a story's, keeps its
// lease.
func (s *Service) release(ctx context.Context, c identity.Caller, address string) error {
	held, err := s.leases(ctx, s.DB.User(c.User), c, address)
	for _, d := range held {
		if err != nil {
			return err
		}
		err = s.Claims.Release(ctx, c, d.ID, d.Value.ClaimToken, "the session "+address+" has ended")
		if fault.Is(err, fault.Precondition) || fault.Is(err, fault.NotFound) {
			err = nil
		}
	}
	return err
}

// others returns the other sessions in the project of a session.
func (s *Service) others(ctx context.Context, c identity.Caller, v *sight, address string) ([]wire.Other, error) {
	var out []wire.Other
	var fetches []*store.Fetch
	var reads []func() Seat
	var docs []link
	for _, d := range v.links {
		if d.Value.Address != address && d.ID != linkID(address) {
			more, read := s.Sessions.Seat(c, d.Value.Address)
			fetches, reads, docs = append(fetches, more...), append(reads, read), append(docs, d.Value)
		}
	}
	if len(docs) == 0 {
		return nil, nil
	}
	if err := store.Load(ctx, s.DB.User(c.User), fetches...); err != nil {
		return nil, err
	}
	now := s.Now()
	for i, l := range docs {
		seat := reads[i]()
		if !seat.Live || !seat.Began.Equal(l.Began) || now.Sub(seat.Heard) > silent || len(out) == mostOthers {
			continue
		}
		holds := v.held[identity.Fold(l.Address)]
		out = append(out, wire.Other{SessionID: l.Address, Program: l.Program, Client: line(l.Client, 40),
			Doing: line(seat.Doing, 120), Branch: line(l.Branch, 100), Worktree: line(l.Worktree, 100),
			Directory: line(l.Directory, 120), Host: line(l.Host, 60), State: seat.State, Holds: holds[:min(len(holds), 5)]})
	}
	return out, nil
}

// silent is the time without a heartbeat after which a session is not told as one at work.
const silent = time.Hour
