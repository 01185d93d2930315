package op

import (
	"context"
	"time"
)

// revocationCheck is the interval at which a waiting call checks its key. A wait ends that soon after the revocation of
// its key in this process.
const revocationCheck = 4 * time.Second

// guard runs a call. If it waits, its key is checked every few seconds and before it is answered: the call ends with the
// error of [Call.Valid] once the key is not valid any more, and its result goes to nobody.
func (c *Call) guard(ctx context.Context, waits bool, run func(context.Context) (any, error)) (any, error) {
	if !waits || c.Valid == nil {
		return run(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	invalid, stopped := error(nil), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(revocationCheck)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if invalid = c.Valid(); invalid != nil {
					cancel()
					return
				}
			}
		}
	}()
	out, err := run(ctx)
	cancel()
	<-stopped
	if invalid == nil {
		invalid = c.Valid()
	}
	if invalid != nil {
		return nil, invalid
	}
	return out, err
}
