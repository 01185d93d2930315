package app

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/sleep"
	"parley.internal/shared/store"
)

// Feed is a store whose changes can be followed by one process.
type Feed interface {
	// Feed returns the change feed for its only reader, whose position the store keeps.
	Feed(ctx context.Context, follows ...store.Follow) (store.Feed, error)
}

// The limits of a follower.
const (
	followPage  = 100 // events that are read at once
	followQueue = 200 // events that wait for a retry; with as many, no further ones are read
	firstRetry  = time.Second
	lastRetry   = time.Minute
)

// Follower runs the reactions to the changes in a store's feed, as functions do for triggers. Make one with
// [App.Follow].
type Follower struct {
	reactions []Reaction
	feed      store.Feed
	now       func() time.Time
	log       *slog.Logger

	read    int64 // the number of the last event that was read
	acked   int64
	waiting []waiting // for a retry, in the order of their events
}

type waiting struct {
	event store.Event
	tries int
	next  time.Time
}

// Follow opens the change feed of the reactions' collections. The store keeps the position of the reader: the next
// process receives the events that this one has not handled.
func (a *App) Follow(ctx context.Context, f Feed, log *slog.Logger) (*Follower, error) {
	r := &Follower{reactions: a.Reactions(), now: a.now, log: log}
	var follows []store.Follow
	for _, reaction := range r.reactions {
		if slices.ContainsFunc(follows, func(f store.Follow) bool { return f.Collection == reaction.Collection }) {
			continue
		}
		follows = append(
			follows,
			store.Follow{
				Collection: reaction.Collection,
				Concerns: func(kind store.EventKind, before, after store.Fields) bool {
					return r.concerns(
						store.Event{
							Kind:   kind,
							Ref:    store.Ref{Coll: reaction.Collection},
							Before: before,
							After:  after,
						},
					)
				},
			},
		)
	}
	var err error
	r.feed, err = f.Feed(ctx, follows...)
	return r, err
}

func (r *Follower) concerns(e store.Event) bool {
	return slices.ContainsFunc(r.reactions, func(reaction Reaction) bool { return reaction.Concerns(e) })
}

// Run handles events until ctx ends. An event that cannot be handled is tried again with growing pauses, until it
// succeeds or is too old. It delays other events only when 200 events wait for a retry.
func (r *Follower) Run(ctx context.Context) {
	for ctx.Err() == nil {
		r.retry(ctx)
		if err := r.ack(ctx); err == nil && len(r.waiting) < followQueue {
			r.take(ctx)
		} else {
			_ = sleep.For(ctx, firstRetry) // the loop checks ctx
		}
	}
}

// take handles the next events. It waits for one no longer than until the next retry.
func (r *Follower) take(ctx context.Context) {
	read := ctx
	if len(r.waiting) > 0 {
		next := slices.MinFunc(r.waiting, func(a, b waiting) int { return a.next.Compare(b.next) }).next
		var cancel context.CancelFunc
		read, cancel = context.WithTimeout(ctx, next.Sub(r.now()))
		defer cancel()
	}
	events, err := r.feed.Next(read, r.read, followPage)
	if err != nil {
		if read.Err() == nil {
			r.log.ErrorContext(ctx, "the change feed cannot be read", "cause", err.Error())
			_ = sleep.For(ctx, firstRetry) // the caller checks ctx
		}
		return
	}
	for _, e := range events {
		if ctx.Err() != nil {
			return
		}
		w := waiting{event: e}
		if !r.try(ctx, &w) {
			r.waiting = append(r.waiting, w)
		}
		r.read = e.Seq
	}
}

// retry handles the waiting events whose pause is over.
func (r *Follower) retry(ctx context.Context) {
	left := r.waiting[:0]
	for _, w := range r.waiting {
		if ctx.Err() != nil || w.next.After(r.now()) || !r.try(ctx, &w) {
			left = append(left, w)
		}
	}
	r.waiting = left
}

// try runs every reaction to the event and reports whether it was handled. Otherwise it sets the time of the next try,
// from the fault's RetryAfter if there is one. Reactions that have begun finish even if ctx ends.
func (r *Follower) try(ctx context.Context, w *waiting) (handled bool) {
	ctx, handled = context.WithoutCancel(ctx), true
	pause := min(firstRetry<<min(w.tries, 10), lastRetry)
	w.tries++
	for _, reaction := range r.reactions {
		if !reaction.Concerns(w.event) {
			continue
		}
		if s, err := reaction.Handle(ctx, w.event, r.now(), r.log); s == Redeliver {
			handled = false
			if after := fault.From(err).RetryAfter; after > 0 {
				pause = after
			}
		}
	}
	w.next = r.now().Add(pause)
	return handled
}

// ack acknowledges the events before the first one that is not handled, so that the store can delete them.
func (r *Follower) ack(ctx context.Context) error {
	done := r.read
	if len(r.waiting) > 0 {
		done = r.waiting[0].event.Seq - 1
	}
	if done <= r.acked {
		return nil
	}
	err := r.feed.Ack(ctx, done)
	if err == nil {
		r.acked = done
	} else if ctx.Err() == nil {
		r.log.ErrorContext(ctx, "the change feed cannot be acknowledged", "cause", err.Error())
	}
	return err
}
