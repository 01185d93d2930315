package app

import (
	"context"
	"log/slog"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Reaction is the reaction of a domain to a change, run by a [Follower] of a change feed or by a trigger.
type Reaction struct{ domain.Reaction }

// Reactions returns the reactions of all domains.
func (a *App) Reactions() []Reaction {
	var out []Reaction
	for _, d := range offering[domain.Reactions](a) {
		for _, r := range d.Reactions() {
			out = append(out, Reaction{r})
		}
	}
	return out
}

// Concerns reports whether the reaction applies to the event.
func (r Reaction) Concerns(e store.Event) bool {
	return r.Collection == e.Ref.Coll && r.Kind == e.Kind && r.Reaction.Concerns(e.Kind, e.Before, e.After)
}

// Outcome is the result of handling an event.
type Outcome string

// The outcomes.
const (
	// Handled means that the reaction ran, or does not apply to the event.
	Handled Outcome = "handled"
	// Dropped means that the event is too old, or failed in a way that redelivery cannot mend.
	Dropped Outcome = "dropped"
	// Redeliver means that the event must be delivered again later.
	Redeliver Outcome = "redeliver"
)

// Handle runs the reaction to an event and returns the outcome. It logs a failure and returns its cause. An event that
// is dropped because of its age returns no error.
func (r Reaction) Handle(ctx context.Context, e store.Event, now time.Time, log *slog.Logger) (Outcome, error) {
	about := []any{"reaction", r.Name, "event", e.ID, "user", e.Ref.User, "document", e.Ref.ID}
	if !r.Concerns(e) {
		return Handled, nil
	}
	if age := now.Sub(e.At); age > r.MaxAge {
		log.WarnContext(
			ctx,
			"event dropped",
			append(about, "age", age.Round(time.Second).String(), "cause", "it is too old")...)
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
