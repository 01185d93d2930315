package relay

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// After a page that holds only dead letters, larger pages follow. Their number is bounded; the next call continues.
const (
	widePage = 100
	maxPages = 8
)

// reading is one call that reads an inbox and marks its messages.
type reading struct {
	*Service
	tenant *store.Tenant
	from   store.Cond
	limit  int
	// receipt confirms an earlier reading, and next is the receipt of this one; both may be empty.
	receipt, next string
	// mine reports whether the caller may confirm a message.
	mine func(*Message) bool
	// newFirst takes new messages before those that come again.
	newFirst bool

	// taken are the messages that the last transaction marked.
	taken map[string]taken
}

// taken is a message before and after a transaction marked it.
type taken struct{ before, after Message }

// consume reads the messages that are due, and waits for a first one.
func (s *Service) consume(ctx context.Context, c identity.Caller, from store.Cond, in GetInput) (GetOutput, error) {
	out := GetOutput{Messages: []View{}}
	mark := *in.MarkAsRead && c.CanWrite()
	if !mark && (in.Confirm || in.Receipt != "") {
		return out, fault.Field("confirm", "and receipt belong to reads that mark what they read; leave markAsRead out")
	}
	t := s.DB.User(c.User)
	r := &reading{Service: s, tenant: t, from: from, limit: in.Limit, receipt: in.Receipt,
		mine: func(m *Message) bool { return mayRead(c, m.Target) }}
	if in.Confirm {
		r.next = s.NewID()
	}
	where, wait := []store.Cond{from, store.Eq("state", Pending)}, time.Duration(in.WaitMs)*time.Millisecond
	err := messages.Wait(ctx, t, where, wait, s.untilDue(t, from, func(ctx context.Context) (_ bool, err error) {
		if mark {
			out.Messages, err = r.deliver(ctx)
		} else {
			out.Messages, err = s.peek(ctx, t, from, in.Limit)
		}
		return len(out.Messages) > 0, err
	}))
	if mark && fault.Is(err, fault.OutcomeUnknown) { // nobody got the messages that it may have marked
		return out, errors.Join(err, r.undo(context.WithoutCancel(ctx)))
	}
	if err != nil || !mark || len(out.Messages) == 0 {
		return out, err
	}
	if store.Ended(ctx) || ctx.Err() != nil { // the reader has gone
		return GetOutput{Messages: []View{}}, r.undo(context.WithoutCancel(ctx))
	}
	op.OnUndelivered(ctx, r.undo)
	out.Receipt = r.next
	return out, nil
}

// deliver returns the messages that are due and marks them, in one commit, so that of two concurrent readers each message
// goes to one. It confirms the messages of the receipt first, and makes lapsed messages dead letters, so that
// they do not precede live mail again.
//
// Once it has begun, the end of the call does not interrupt it: the caller of an interrupted commit would not know the
// marked messages.
func (r *reading) deliver(ctx context.Context) (views []View, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	whole := context.WithoutCancel(ctx)
	width := r.limit
	for range maxPages {
		var full bool
		views, full, err = r.page(whole, width)
		if err != nil || len(views) > 0 || !full {
			break
		}
		width = max(r.limit, widePage)
	}
	return views, err
}

// page delivers the messages among the first width that are due; full reports that there are more.
func (r *reading) page(ctx context.Context, width int) (views []View, full bool, err error) {
	views = []View{}
	wanted := func(store.Doc[Message]) bool { return len(views) < r.limit }
	took := func(d store.Doc[Message]) { views = append(views, view(d.ID, d.Value)) }
	run := func(ctx context.Context, tx *store.Tx) error {
		views = []View{}
		found, err := r.pick(ctx, tx, width, wanted, took)
		full = found.full
		found.put(tx)
		return err
	}
	err = r.tenant.Consume(ctx, func(ctx context.Context, reader store.Reader) (bool, error) {
		if r.receipt != "" {
			return true, nil
		}
		page, err := messages.Query(ctx, reader, due(r.from, r.Now(), 1))
		return len(page.Docs) > 0, err
	}, run)
	if err == nil {
		r.receipt = "" // it is confirmed
	}
	return views, full, err
}

// picked are the changes of one transaction in an inbox.
type picked struct {
	changed []store.Doc[Message]
	// full means that there are more messages that are due.
	full bool
}

func (p picked) put(tx *store.Tx) {
	for _, d := range p.changed {
		messages.SameText().Put(tx, d.ID, d.Value)
	}
}

// pick confirms the messages of the receipt and goes through the first width that are due: it buries those that lapsed,
// and marks as read those that wanted accepts, each of which it gives to took. It writes nothing yet.
func (r *reading) pick(ctx context.Context, tx *store.Tx, width int, wanted func(store.Doc[Message]) bool,
	took func(store.Doc[Message]),
) (out picked, err error) {
	now := r.Now()
	r.taken = map[string]taken{}
	confirmed, err := r.confirmed(ctx, tx)
	if err != nil {
		return out, err
	}
	page, err := messages.Query(ctx, tx, due(r.from, now, width))
	if err != nil {
		return out, err
	}
	out.full = len(page.Docs) == width
	for id, m := range confirmed {
		m.Confirm(now)
		out.changed = append(out.changed, store.Doc[Message]{ID: id, Value: m})
	}
	if r.newFirst {
		slices.SortStableFunc(page.Docs, func(a, b store.Doc[Message]) int { return cmp.Compare(a.Value.seen(), b.Value.seen()) })
	}
	for _, d := range page.Docs {
		m := d.Value
		_, done := confirmed[d.ID]
		switch {
		case done:
			continue
		case m.Lapsed(now):
			m.Bury(now)
		case !wanted(d):
			continue
		default:
			r.take(&m, d, now)
			took(store.Doc[Message]{ID: d.ID, Value: m})
		}
		out.changed = append(out.changed, store.Doc[Message]{ID: d.ID, Value: m})
	}
	return out, nil
}

// take marks a message as read.
func (r *reading) take(m *Message, d store.Doc[Message], now time.Time) {
	if r.next != "" {
		m.Hold(r.next, now)
	} else {
		m.Deliver(now)
	}
	r.taken[d.ID] = taken{before: d.Value, after: *m}
}

// confirmed returns the messages of the receipt, by id. An unknown receipt has none.
func (r *reading) confirmed(ctx context.Context, tx *store.Tx) (map[string]Message, error) {
	found := map[string]Message{}
	if r.receipt == "" {
		return found, nil
	}
	page, err := messages.Query(ctx, tx, store.Query{Where: []store.Cond{store.Eq("receipt", r.receipt)}, Limit: widePage})
	for _, d := range page.Docs {
		if r.mine(&d.Value) {
			found[d.ID] = d.Value
		}
	}
	return found, err
}

// undo removes the marks of the reading, because its answer reached nobody. A message that was changed since stays as
// it is.
func (r *reading) undo(ctx context.Context) error {
	ids := slices.Sorted(maps.Keys(r.taken))
	return r.tenant.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := load(ctx, tx, ids)
		if err != nil {
			return err
		}
		for i, m := range found {
			if was := r.taken[ids[i]]; m != nil && m.Undeliver(was.before, was.after) {
				messages.SameText().Put(tx, ids[i], *m)
			}
		}
		return nil
	})
}

// due is the query for the messages of a box that are due.
func due(from store.Cond, now time.Time, limit int) store.Query {
	return store.Query{Where: []store.Cond{from, store.Le("dueAt", now)},
		Order: []string{"rank desc", "createdAt", "dueAt"}, Limit: limit}
}

// untilDue returns the check of a wait for mail which, where it finds none, is made again when a message that waits for its
// confirmation or acknowledgement is due. It looks for those once: a message that is read while the wait goes on
// is due after [Redeliver], which is longer than a wait.
func (s *Service) untilDue(
	t *store.Tenant, from store.Cond, check func(context.Context) (bool, error),
) func(context.Context) (bool, error) {
	known := false
	return func(ctx context.Context) (bool, error) {
		now := s.Now()
		if done, err := check(ctx); done || err != nil || known || !store.Listening(ctx) {
			return done, err
		}
		known = true
		page, err := messages.Query(ctx, t, store.Query{Where: []store.Cond{from, store.Gt("dueAt", now)},
			Order: []string{"rank desc", "createdAt", "dueAt"}, Limit: widePage})
		for _, d := range page.Docs {
			store.CheckAgain(ctx, d.Value.DueAt.Sub(s.Now()))
		}
		return false, err
	}
}

// peek returns the messages that are due and changes nothing.
func (s *Service) peek(ctx context.Context, t *store.Tenant, from store.Cond, limit int) ([]View, error) {
	now, q := s.Now(), due(from, s.Now(), limit)
	views := []View{}
	for range maxPages {
		page, err := messages.Query(ctx, t, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Docs {
			if !d.Value.Lapsed(now) && len(views) < limit {
				views = append(views, view(d.ID, d.Value))
			}
		}
		if len(views) > 0 || page.Next == "" {
			break
		}
		q.Cursor, q.Limit = page.Next, max(limit, widePage)
	}
	return views, nil
}
