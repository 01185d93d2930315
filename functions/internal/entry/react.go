package entry

import (
	"context"
	"errors"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"parley.internal/functions/internal/event"
	"parley.internal/shared/app"
)

// reactFor bounds one reaction. It is longer than any send takes, and no longer than who delivers waits for an answer.
const reactFor = 60 * time.Second

var errAgain = errors.New("the event was not handled and should be delivered again; the log has the cause")

// React is the function of the reaction with this name. Its error says that the event should be delivered again, and
// tells nothing of the cause, which is in the log.
func (p *Points) React(name string) func(context.Context, cloudevents.Event) error {
	return func(ctx context.Context, ce cloudevents.Event) error {
		// The framework may hand over the context of another call under way, whose end is none of ours.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reactFor)
		defer cancel()
		e, err := event.Decode(ce)
		if err != nil {
			p.Log.ErrorContext(ctx, "event dropped", "reaction", name, "event", ce.ID(), "cause", err.Error())
			return nil
		}
		r, err := p.open(ctx)
		if err != nil {
			return errAgain
		}
		reaction, err := r.reaction(name)
		if err != nil {
			return err
		}
		if outcome, _ := reaction.Handle(ctx, e, p.Now(), p.Log); outcome == app.Redeliver {
			return errAgain
		}
		return nil
	}
}
