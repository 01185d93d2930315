package app

import (
	"context"
	"log/slog"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Reaction is what follows from a change of a document. It may be given the same
// event more than once, also at once: it acts on it once.
type Reaction struct {
	// Name is what logs and deployments call it.
	Name string
	// Collection and Kind are the changes that it is for.
	Collection string
	Kind       store.EventKind
	// MaxAge is how old an event may be; an older one is dropped.
	MaxAge time.Duration

	concerns func(kind store.EventKind, before, after store.Fields) bool
	run      func(context.Context, store.Event) error
}

// What came to be is told for as long as a redelivery may take; that something
// changed is news for an hour.
const (
	createdFor = 24 * time.Hour
	changedFor = time.Hour
)

// Reactions are all there are.
func (a *App) Reactions() []Reaction {
	return []Reaction{
		{"OnTaskCreate", "tasks", store.Created, createdFor, a.Signal.ConcernsTask, a.Signal.TaskCreated},
		{"OnTaskUpdate", "tasks", store.Updated, changedFor, a.Signal.ConcernsTask, a.Signal.TaskUpdated},
		{"OnSessionUpdate", "sessions", store.Updated, changedFor, a.Pulse.ConcernsSession, a.Pulse.SessionUpdated},
	}
}

// Concerns says whether the reaction does anything about such a change.
func (r Reaction) Concerns(e store.Event) bool {
	return r.Collection == e.Ref.Coll && r.Kind == e.Kind && r.concerns(e.Kind, e.Before, e.After)
}

// Outcome is the result of handling an event.
type Outcome string

// The outcomes.
const (
	// Handled is an event that was reacted to, or that concerns no reaction.
	Handled Outcome = "handled"
	// Dropped is an event that is too old, or whose failure no redelivery can mend.
	Dropped Outcome = "dropped"
	// Redeliver is an event that should come again later.
	Redeliver Outcome = "redeliver"
)

// Handle reacts to an event and returns the outcome. Failures are logged; the error is their cause.
func (r Reaction) Handle(ctx context.Context, e store.Event, now time.Time, log *slog.Logger) (Outcome, error) {
	about := []any{"reaction", r.Name, "event", e.ID, "user", e.Ref.User, "document", e.Ref.ID}
	if !r.Concerns(e) {
		return Handled, nil
	}
	if age := now.Sub(e.At); age > r.MaxAge {
		log.WarnContext(ctx, "event dropped", append(about, "age", age.Round(time.Second).String(), "cause", "it is too old")...)
		return Dropped, nil
	}
	err := r.run(ctx, e)
	switch {
	case err == nil:
		return Handled, nil
	case fault.Of(err).Redeliver():
		log.WarnContext(ctx, "event comes again", append(about, "fault", fault.Of(err).Code(), "cause", err.Error())...)
		return Redeliver, err
	}
	log.ErrorContext(ctx, "event dropped", append(about, "fault", fault.Of(err).Code(), "cause", err.Error())...)
	return Dropped, err
}
