package hub

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/fault"
)

// Fault is a call that did not succeed. Its message says what to do, where anybody can.
type Fault struct {
	Message string
	cause   *client.Error
}

func (f *Fault) Error() string { return f.Message }

// Unwrap returns the client's error, which has the server's own.
func (f *Fault) Unwrap() error { return f.cause }

// is says whether a server of Parley's answered with a fault of one of the kinds.
func is(err error, kinds ...fault.Kind) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code != "" && slices.Contains(kinds, e.Fault.Kind)
}

// Gone says that the server knows the team or the process no more. A server that does not know the route is another
// matter.
func Gone(err error) bool {
	return is(err, fault.NotFound) && !strings.HasPrefix(err.Error(), noRoute)
}

// noRoute begins the message of a server without the operation.
const noRoute = "there is no such route"

// Refused says that what was asked cannot be, now or later: the process has ended, or another runner has it.
func Refused(err error) bool { return is(err, fault.Precondition, fault.Exists) }

// Hopeless says that nobody needs to repeat the call before something was put right here: the key, the team's name, the
// server's version.
func Hopeless(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code != "" && e.Status >= 400 && e.Status < 500 && !Refused(err) &&
		!is(err, fault.Conflict) &&
		e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout
}

const (
	// longest is how long is waited between two tries at most, of our own accord.
	longest = 30 // units
	// obeyed bounds what a server may ask for.
	obeyed = 5 * time.Minute
)

// Backoff says when to try again: after 1, 2, 4 and so on to 30 seconds, some less by chance, and never before the
// server asked. The zero value begins at the beginning.
type Backoff struct {
	// Unit stands for the second; zero is one.
	Unit  time.Duration
	tries int
}

// Reset is that a try succeeded.
func (b *Backoff) Reset() { b.tries = 0 }

// Next is how long to wait after an error.
func (b *Backoff) Next(err error) time.Duration {
	unit := b.Unit
	if unit == 0 {
		unit = time.Second
	}
	d := unit * time.Duration(min(1<<min(b.tries, 10), longest))
	b.tries++
	d -= rand.N(d/2 + 1)
	var f *fault.Error
	if errors.As(err, &f) {
		d = max(d, min(f.RetryAfter, obeyed))
	}
	return d
}

// Sleep waits, or less where ctx ends or wake is closed.
func Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}
