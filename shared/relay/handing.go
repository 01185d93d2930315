package relay

import (
	"context"
	"slices"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Due returns the messages that are due in some inboxes, at most limit, most urgent first. It changes nothing. The
// inboxes are those of a program and its sessions, which the caller may read.
func (s *Service) Due(ctx context.Context, r store.Reader, inboxes []string, limit int) ([]store.Doc[Message], error) {
	now := s.Now()
	page, err := messages.Query(ctx, r, due(boxesOf(inboxes, "", "", ""), now, limit))
	out := make([]store.Doc[Message], 0, len(page.Docs))
	for _, d := range page.Docs {
		if !d.Value.Lapsed(now) {
			out = append(out, d)
		}
	}
	return out, err
}

// Handing hands the mail of some inboxes over in a transaction of another domain. The one it is handed to confirms it
// with the receipt, or it comes again.
type Handing struct {
	reading
	picked picked
}

// Hand prepares to hand over mail under the receipt next, and to confirm the mail of an earlier receipt; either may be
// empty. Without next nothing is handed over.
func (s *Service) Hand(c identity.Caller, inboxes []string, receipt, next string) *Handing {
	return &Handing{reading: reading{Service: s, tenant: s.DB.User(c.User), from: boxesOf(inboxes, "", "", ""),
		receipt: receipt, next: next, newFirst: true, mine: func(m *Message) bool { return mayRead(c, m.Target) }}}
}

// Read goes through the first width messages that are due and takes those that wanted accepts: new ones before those that
// come again, each most urgent first, so that mail nobody acknowledges keeps no new mail away. It returns them as they are
// stored from [Handing.Write] on.
func (h *Handing) Read(
	ctx context.Context, tx *store.Tx, width int, wanted func(store.Doc[Message]) bool,
) (handed []store.Doc[Message], err error) {
	accepts := func(d store.Doc[Message]) bool { return h.next != "" && wanted(d) }
	h.picked, err = h.pick(ctx, tx, width, accepts, func(d store.Doc[Message]) { handed = append(handed, d) })
	return handed, err
}

// Write writes the changes of the messages that Read has found.
func (h *Handing) Write(tx *store.Tx) { h.picked.put(tx) }

// Undo takes back the messages that were handed over, because they reached nobody.
func (h *Handing) Undo(ctx context.Context) error { return h.undo(ctx) }

// From returns the address for a reply to the sender: its session where that is known, else its program.
func (m *Message) From() string {
	if address := sourceSession(*m); address != "" {
		return address
	}
	return m.Source
}

// WroteTo reports whether one of the senders, a program or sessions of it, has written to a program lately: whether a
// message of it is kept.
func (s *Service) WroteTo(ctx context.Context, user, source, target string) (bool, error) {
	page, err := messages.Query(ctx, s.DB.User(user), store.Query{Where: []store.Cond{
		boxesOf([]string{target, target + everySession}, "", "", ""), store.Eq("source", source)},
		Order: []string{"createdAt"}, Limit: 1})
	return len(page.Docs) > 0, err
}

// WaitFor is [Service.Wait] for changes of the mail in some inboxes, and calls check also when a message in them is due
// again.
func (s *Service) WaitFor(
	ctx context.Context, user string, inboxes []string, d time.Duration, check func(context.Context) (bool, error),
) error {
	t := s.DB.User(user)
	var where []store.Cond
	for part := range slices.Chunk(inboxes, maxFollowed) {
		check = s.untilDue(t, boxesOf(part, "", "", ""), check)
	}
	if len(inboxes) <= maxFollowed {
		where = []store.Cond{boxesOf(inboxes, "", "", "")}
	}
	return messages.Wait(ctx, t, where, d, check)
}

// maxFollowed is the number of inboxes that a wait tells from the others.
const maxFollowed = 15
