package team

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

const (
	// comeAgain is the time after which a message comes again whose reader did not confirm it.
	comeAgain = 120 * time.Second
	// heldPages is the number of pages of messages that wait for their confirmation which one read passes over.
	heldPages = 8
)

// ReadInbox returns a page of a member's inbox, oldest first, and marks its messages as read
// unless MarkAsRead is false or the key is read-only. A key that may not read the inbox is
// Forbidden.
//
// The marked messages become unread again if the answer does not reach the caller. With Confirm the caller gets a
// receipt, and the messages are read once a later call passes it; without the receipt they come again after 120
// seconds.
func (s *Service) ReadInbox(ctx context.Context, c identity.Caller, in ReadInput) (InboxOutput, error) {
	if err := checkName(in.TeamName); err != nil {
		return InboxOutput{}, err
	}
	r := s.newReading(c, in, *in.MarkAsRead && c.CanWrite())
	if !r.mark && (in.Confirm || in.Receipt != "") {
		return InboxOutput{}, fault.Field("confirm", "and receipt belong to reads that mark what they read; leave "+
			"mark_as_read out")
	}
	out, err := r.read(ctx)
	if err != nil {
		return out, err
	}
	return r.answer(ctx, out)
}

// PollInbox returns the unread messages of a member and marks them as read, as [Service.ReadInbox] does. If there are
// none, it waits for the first for at most TimeoutMs milliseconds.
func (s *Service) PollInbox(ctx context.Context, c identity.Caller, in PollInput) (InboxOutput, error) {
	if err := checkName(in.TeamName); err != nil {
		return InboxOutput{}, err
	}
	wait := time.Duration(*in.TimeoutMs) * time.Millisecond
	r := s.newReading(c, ReadInput{TeamName: in.TeamName, AgentName: in.AgentName, UnreadOnly: true, Limit: maxPage,
		Confirm: in.Confirm, Receipt: in.Receipt}, c.CanWrite())
	out, err := r.read(ctx)
	if err == nil && len(out.Messages) == 0 && wait > 0 {
		// The inbox has the number of its last message, so it changes with each.
		here := []store.Cond{store.Eq("teamId", r.team), store.Eq("agent", r.agent)}
		err = inboxes.Wait(ctx, r.tenant, here, wait, func(ctx context.Context) (bool, error) {
			out, err = r.read(ctx)
			if len(out.Messages) == 0 && !r.heldUntil.IsZero() {
				store.CheckAgain(ctx, r.heldUntil.Sub(r.Now()))
			}
			return len(out.Messages) > 0, err
		})
	}
	if err != nil {
		return out, err
	}
	return r.answer(ctx, out)
}

// reading is one call that reads an inbox.
type reading struct {
	*Service
	caller identity.Caller
	in     ReadInput
	mark   bool
	tenant *store.Tenant
	// next is the receipt of this reading, empty if none is wanted.
	next string

	// team and agent name the inbox after a read: the id of its team, and the member as the team spells it.
	team, agent string
	// heldUntil is the time at which the first of the held messages that were passed over comes again, zero for none.
	heldUntil time.Time
	// taken are the messages that the last transaction marked, by the ids of their documents.
	taken map[string]taken
}

// taken is how a transaction left a message that it marked.
type taken struct {
	read    bool
	receipt string
}

func (s *Service) newReading(c identity.Caller, in ReadInput, mark bool) *reading {
	r := &reading{Service: s, caller: c, in: in, mark: mark, tenant: s.DB.User(c.User)}
	if mark && in.Confirm {
		r.next = s.NewID()
	}
	return r
}

// answer completes the output of a reading. If the reader has gone, the messages that it marked are unread again.
func (r *reading) answer(ctx context.Context, out InboxOutput) (InboxOutput, error) {
	if len(r.taken) == 0 {
		return out, nil
	}
	if store.Ended(ctx) || ctx.Err() != nil {
		return InboxOutput{Messages: []Message{}}, r.undo(context.WithoutCancel(ctx))
	}
	op.OnUndelivered(ctx, r.undo)
	out.Receipt = r.next
	return out, nil
}

// read reads a page of the inbox once. To mark its messages it reads in a transaction, so that each message is unread to
// one of several concurrent readers. The end of the call does not interrupt that.
func (r *reading) read(ctx context.Context) (out InboxOutput, err error) {
	if !r.mark {
		out, _, _, err = r.look(ctx, r.tenant)
		return out, err
	}
	if ctx.Err() != nil {
		return out, fault.From(ctx.Err())
	}
	ctx = context.WithoutCancel(ctx)
	run := func(ctx context.Context, tx *store.Tx) error {
		var docs []store.Doc[storedMessage]
		var own bool
		r.taken = map[string]taken{}
		if out, docs, own, err = r.look(ctx, tx); err != nil || !own {
			return err
		}
		confirmed, err := r.confirmed(ctx, tx)
		if err != nil {
			return err
		}
		out.Messages = []Message{}
		for _, d := range docs {
			if !confirmed[d.ID] {
				out.Messages = append(out.Messages, r.take(tx, d))
			} else if !r.in.UnreadOnly {
				out.Messages = append(out.Messages, d.Value.Message)
			}
		}
		return nil
	}
	err = r.tenant.Consume(ctx, func(ctx context.Context, reader store.Reader) (_ bool, err error) {
		if r.in.Receipt != "" {
			return true, nil
		}
		var docs []store.Doc[storedMessage]
		var own bool
		out, docs, own, err = r.look(ctx, reader)
		return own && slices.ContainsFunc(docs, func(m store.Doc[storedMessage]) bool { return !m.Value.Read }), err
	}, run)
	if err == nil {
		r.in.Receipt = "" // it is confirmed
	}
	if fault.Is(err, fault.OutcomeUnknown) { // nobody got the messages that it may have marked
		err = errors.Join(err, r.undo(ctx))
	}
	return out, err
}

// look reads a page of the inbox, without messages that wait for their confirmation, or that the receipt confirms, if only
// unread ones are wanted. own reports whether the inbox is the caller's.
func (r *reading) look(ctx context.Context, reader store.Reader) (
	out InboxOutput, docs []store.Doc[storedMessage], own bool, err error) {
	out.Messages = []Message{}
	var head inbox
	d, err := load(ctx, reader, r.in.TeamName, inboxes.Fetch(memberID(r.in.TeamName, r.in.AgentName), &head))
	if err != nil {
		return out, nil, false, err
	}
	if r.team, r.agent = d.ID, d.spelling(r.in.AgentName); r.agent != r.in.AgentName {
		head = inbox{}
		if err := store.Load(ctx, reader, inboxes.Fetch(memberID(d.Name, r.agent), &head)); err != nil {
			return out, nil, false, err
		}
	}
	if own, err = d.mayRead(r.caller, r.agent); err != nil {
		return out, nil, false, err
	}
	q := store.Query{Where: []store.Cond{store.Eq("agent", r.agent)}, Order: []string{"seq"}, Limit: r.in.Limit,
		Cursor: r.in.Cursor}
	if head.TeamID == d.ID && head.Before > 0 {
		q.Where = append(q.Where, store.Gt("seq", head.Before))
	}
	if r.in.UnreadOnly {
		q.Where = append(q.Where, store.Eq("read", false))
	}
	now := r.Now()
	r.heldUntil = time.Time{}
	for range heldPages {
		page, err := messages.Under(r.team).Query(ctx, reader, q)
		if err != nil {
			return out, nil, own, err
		}
		out.NextCursor, q.Cursor = page.Next, page.Next
		for _, m := range page.Docs {
			held := m.Value.Receipt != "" && (now.Before(m.Value.HeldUntil) || m.Value.Receipt == r.in.Receipt)
			switch until := m.Value.HeldUntil; {
			case !held || !r.in.UnreadOnly:
				docs = append(docs, m)
				out.Messages = append(out.Messages, m.Value.Message)
			case r.heldUntil.IsZero() || until.Before(r.heldUntil):
				r.heldUntil = until
			}
		}
		if len(docs) > 0 || page.Next == "" {
			break
		}
	}
	return out, docs, own, nil
}

// take marks an unread message and returns it as its reader sees it: as it was before, but for the mark that it may have
// been read.
func (r *reading) take(tx *store.Tx, d store.Doc[storedMessage]) Message {
	m := d.Value
	if m.Read {
		return m.Message
	}
	m.Again = m.Again || m.Receipt != ""
	changes := []store.Edit{store.Set("again", m.Again)}
	if r.next != "" {
		changes = append(changes, store.Set("receipt", r.next), store.Set("heldUntil", r.Now().Add(comeAgain)))
	} else {
		changes = append(changes, r.asRead(m)...)
	}
	messages.Under(r.team).Patch(tx, d.ID, changes...)
	r.taken[d.ID] = taken{read: r.next == "", receipt: r.next}
	return m.Message
}

// asRead returns the changes that make a message read.
func (r *reading) asRead(m storedMessage) []store.Edit {
	changes := []store.Edit{store.Set("read", true)}
	if m.Receipt != "" {
		changes = append(changes, store.Unset("receipt"), store.Unset("heldUntil"))
	}
	if r.Keep > 0 {
		changes = append(changes, store.Set(store.PurgeField, r.Now().Add(r.Keep)))
	}
	return changes
}

// confirmed marks the messages of the receipt as read, and returns the ids of their documents.
func (r *reading) confirmed(ctx context.Context, tx *store.Tx) (map[string]bool, error) {
	found := map[string]bool{}
	if r.in.Receipt == "" {
		return found, nil
	}
	page, err := messages.Under(r.team).Query(ctx, tx,
		store.Query{Where: []store.Cond{store.Eq("receipt", r.in.Receipt)}, Limit: maxPage})
	for _, d := range page.Docs {
		if d.Value.Agent == r.agent {
			found[d.ID] = true
			messages.Under(r.team).Patch(tx, d.ID, r.asRead(d.Value)...)
		}
	}
	return found, err
}

// undo makes the messages that were marked unread again, because the answer reached nobody. A message that was changed
// since stays as it is.
func (r *reading) undo(ctx context.Context) error {
	return r.tenant.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		var ids []string
		var fetches []*store.Fetch
		found := make([]storedMessage, len(r.taken))
		for id := range r.taken {
			fetches = append(fetches, messages.Under(r.team).Fetch(id, &found[len(ids)]))
			ids = append(ids, id)
		}
		if err := store.Load(ctx, tx, fetches...); err != nil {
			return err
		}
		for i, f := range fetches {
			was := r.taken[ids[i]]
			if f.Found && found[i].Read == was.read && found[i].Receipt == was.receipt {
				messages.Under(r.team).Patch(tx, ids[i], store.Set("read", false), store.Set("again", true),
					store.Unset("receipt"), store.Unset("heldUntil"), store.Unset(store.PurgeField))
			}
		}
		return nil
	})
}
