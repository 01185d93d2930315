package op

import (
	"context"
	"time"
)

// revocationCheck is the interval at which a waiting call checks its key. A wait ends that soon after the revocation of
// its key in this process.
const revocationCheck = 4 * time.Second

// guard runs a call. While a call waits it checks the caller's key, and ends the call once the key is not valid any more;
// a key that was revoked meanwhile gets no answer.
func (c *Call) guard(ctx context.Context, waits bool, run func(context.Context) (any, error)) (any, error) {
	if !waits || c.Valid == nil {
		return run(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(revocationCheck)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := c.Valid(); err != nil {
					cancel(err)
					return
				}
			}
		}
	}()
	out, err := run(ctx)
	cancel(nil)
	<-stopped
	if invalid := c.Valid(); invalid != nil {
		return nil, invalid
	}
	return out, err
}
