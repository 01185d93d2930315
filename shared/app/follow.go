package app

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/googleapis/gax-go/v2"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Feed is a store whose changes can be followed by one process.
type Feed interface {
	// Feed returns the change feed of its one reader, whose place the store keeps.
	Feed(ctx context.Context, follows ...store.Follow) (store.Feed, error)
}

// The pace of a follower: how many events it takes at once, how many may wait for
// another try, and how long the next try of one is waited for.
const (
	followPage  = 100
	followQueue = 200
	firstRetry  = time.Second
	lastRetry   = time.Minute
)

// Follower runs the reactions from a store's change feed, as functions do from
// triggers. Make one with [App.Follow].
type Follower struct {
	reactions []Reaction
	feed      store.Feed
	now       func() time.Time
	log       *slog.Logger

	read    int64 // the last event that was taken
	acked   int64
	waiting []waiting // for another try, by their events' order
}

type waiting struct {
	event store.Event
	tries int
	next  time.Time
}

// Follow begins to keep the changes that the reactions are for. The place of the
// reader is kept in the store: an event that was not handled when the process ended comes
// again in the next one.
func (a *App) Follow(ctx context.Context, f Feed, log *slog.Logger) (*Follower, error) {
	r := &Follower{reactions: a.Reactions(), now: a.now, log: log}
	var follows []store.Follow
	for _, reaction := range r.reactions {
		if slices.ContainsFunc(follows, func(f store.Follow) bool { return f.Collection == reaction.Collection }) {
			continue
		}
		follows = append(follows, store.Follow{Collection: reaction.Collection, Concerns: func(kind store.EventKind, before, after store.Fields) bool {
			return r.concerns(store.Event{Kind: kind, Ref: store.Ref{Coll: reaction.Collection}, Before: before, After: after})
		}})
	}
	var err error
	r.feed, err = f.Feed(ctx, follows...)
	return r, err
}

func (r *Follower) concerns(e store.Event) bool {
	return slices.ContainsFunc(r.reactions, func(reaction Reaction) bool { return reaction.Concerns(e) })
}

// Run reacts until ctx ends. An event that cannot be handled yet is tried again, with
// growing pauses, until it is or is too old, and keeps the others waiting only once
// very many wait.
func (r *Follower) Run(ctx context.Context) {
	for ctx.Err() == nil {
		r.retry(ctx)
		if err := r.ack(ctx); err == nil && len(r.waiting) < followQueue {
			r.take(ctx)
		} else {
			_ = gax.Sleep(ctx, firstRetry) // ctx is looked at next
		}
	}
}

// take reacts to the next events, waiting for one until something is to be tried again.
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
			_ = gax.Sleep(ctx, firstRetry) // ctx is looked at next
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

// retry tries again what is due.
func (r *Follower) retry(ctx context.Context) {
	left := r.waiting[:0]
	for _, w := range r.waiting {
		if ctx.Err() != nil || w.next.After(r.now()) || !r.try(ctx, &w) {
			left = append(left, w)
		}
	}
	r.waiting = left
}

// try has every reaction to the event run, and says whether it was handled; else when it
// is to be tried again: as soon as the fault says, if it does. What has begun is let finish.
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

// ack lets the store forget what lies before everything that is not handled.
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
