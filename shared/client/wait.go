package client

import (
	"context"
	"time"
)

// MaxWait is the longest wait that the server takes in one call.
const MaxWait = 55 * time.Second

// restless is the pause after a call that should have waited and did not: a server that is about to stop answers
// every wait at once.
const restless = time.Second

// Await repeats a waiting call until it is done, for longer than the server waits in one. It gives look the time
// that the call may wait, at most [MaxWait], and asks it again while it says that it is not done and patience is
// left. It returns the last result of look.
//
// Look should call an operation that reads. One that writes would write each time.
func Await[O any](ctx context.Context, c *Client, patience time.Duration,
	look func(ctx context.Context, wait time.Duration) (out O, done bool, err error)) (O, error) {
	end := c.now().Add(patience)
	for {
		began := c.now()
		wait := max(0, min(MaxWait, end.Sub(began))).Truncate(time.Millisecond)
		out, done, err := look(ctx, wait)
		if done || err != nil {
			return out, err
		}
		now := c.now()
		left := end.Sub(now)
		if left < time.Millisecond {
			return out, nil
		}
		if now.Sub(began) < min(wait, restless) {
			if err := c.sleep(ctx, min(restless, left)); err != nil {
				return out, err
			}
		}
	}
}
