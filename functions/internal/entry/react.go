package entry

import (
	"context"
	"errors"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"parley.internal/functions/internal/event"
	"parley.internal/shared/app"
)

// reactTimeout bounds one reaction. It is longer than any send takes and shorter than Eventarc waits for an answer.
const reactTimeout = 60 * time.Second

var errRedeliver = errors.New("the event was not handled and should be delivered again; the log has the cause")

// React returns the function of the reaction with this name. The function returns an error if the event should be
// delivered again. The error does not contain the cause, which is logged.
func (p *Handlers) React(name string) func(context.Context, cloudevents.Event) error {
	return func(ctx context.Context, ce cloudevents.Event) error {
		// The framework may pass on the context of another call in flight, whose end must not end this one.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reactTimeout)
		defer cancel()
		e, err := event.Decode(ce)
		if err != nil {
			p.Log.ErrorContext(ctx, "event dropped", "reaction", name, "event", ce.ID(), "cause", err.Error())
			return nil
		}
		r, err := p.open(ctx)
		if err != nil {
			return errRedeliver
		}
		reaction, err := r.reaction(name)
		if err != nil {
			return err
		}
		if outcome, _ := reaction.Handle(ctx, e, p.Now(), p.Log); outcome == app.Redeliver {
			return errRedeliver
		}
		return nil
	}
}
