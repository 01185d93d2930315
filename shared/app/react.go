package app

import (
	"context"
	"log/slog"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Reaction is a domain's, as a follower of a change feed or a trigger runs it.
type Reaction struct{ domain.Reaction }

// Reactions are those of all domains.
func (a *App) Reactions() []Reaction {
	var out []Reaction
	for _, d := range offering[domain.Reactions](a) {
		for _, r := range d.Reactions() {
			out = append(out, Reaction{r})
		}
	}
	return out
}

// Concerns says whether the reaction does anything about such a change.
func (r Reaction) Concerns(e store.Event) bool {
	return r.Collection == e.Ref.Coll && r.Kind == e.Kind && r.Reaction.Concerns(e.Kind, e.Before, e.After)
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
	err := r.Run(ctx, e)
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
