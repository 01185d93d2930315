package op

import (
	"context"
	"errors"
	"time"
)

// undoTimeout bounds the time in which the effects of a call whose answer was not given are taken back.
const undoTimeout = 10 * time.Second

// undos are the functions that take back the effects of a call.
type undos struct{ all []func(context.Context) error }

type undosKey struct{}

// OnUndelivered registers a function that undoes the effects that a call had for the sake of its answer, such as
// marking messages as read. The transport calls it if the answer could not be given to the caller. Outside of a call
// that [Catalogue.Call] makes, it does nothing.
func OnUndelivered(ctx context.Context, undo func(context.Context) error) {
	if u, ok := ctx.Value(undosKey{}).(*undos); ok {
		u.all = append(u.all, undo)
	}
}

// Consumed reports whether the call has an effect that [Result.Undelivered] takes back.
func (r Result) Consumed() bool { return r.undos != nil && len(r.undos.all) > 0 }

// Undelivered takes back the effects of a call whose answer could not be given to its caller. It may be called after the
// end of the call's context, at most once. It does nothing for a call that has no such effect.
func (r Result) Undelivered(ctx context.Context) error {
	if r.undos == nil || len(r.undos.all) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	var failed []error
	for _, undo := range r.undos.all {
		failed = append(failed, undo(ctx))
	}
	return errors.Join(failed...)
}
