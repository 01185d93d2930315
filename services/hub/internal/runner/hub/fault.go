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

// Fault is the error of a failed call. Its message names the remedy where there is one.
type Fault struct {
	Message string
	cause   *client.Error
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Unwrap returns the client's error, which wraps the server's fault.
func (f *Fault) Unwrap() error { return f.cause }

// is reports whether the server answered with a fault of one of the kinds.
func is(err error, kinds ...fault.Kind) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code != "" && slices.Contains(kinds, e.Fault.Kind)
}

// Gone reports whether the server no longer knows the team or the process. It is false if the server lacks the route.
func Gone(err error) bool {
	return is(err, fault.NotFound) && !strings.HasPrefix(err.Error(), noRoute)
}

// noRoute begins the message of a server that lacks the operation.
const noRoute = "there is no such route"

// Refused reports whether the server refuses the call for good: the process has ended, or another runner has it.
func Refused(err error) bool { return is(err, fault.Precondition, fault.Exists) }

// Permanent reports whether repeating the call is useless until the operator corrects something: the key, the team's
// name or the server's version.
func Permanent(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code != "" && e.Status >= 400 && e.Status < 500 && !Refused(err) &&
		!is(err, fault.Conflict) &&
		e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout
}

const (
	// maxUnits is the longest pause between two tries, in units.
	maxUnits = 30
	// maxRetryAfter is the longest pause that a server may ask for.
	maxRetryAfter = 5 * time.Minute
)

// Backoff determines the pauses between tries: 1, 2, 4 and so on up to 30 units, each shortened by up to half at
// random, and never shorter than the server's Retry-After. The zero value is ready for use.
type Backoff struct {
	// Unit is the first pause; 0 means one second.
	Unit  time.Duration
	tries int
}

// Reset starts over after a success.
func (b *Backoff) Reset() { b.tries = 0 }

// Next returns the pause after the error.
func (b *Backoff) Next(err error) time.Duration {
	unit := b.Unit
	if unit == 0 {
		unit = time.Second
	}
	d := unit * time.Duration(min(1<<min(b.tries, 10), maxUnits))
	b.tries++
	d -= rand.N(d/2 + 1)
	var f *fault.Error
	if errors.As(err, &f) {
		d = max(d, min(f.RetryAfter, maxRetryAfter))
	}
	return d
}

// Sleep pauses for d, or until ctx ends or, which [sleep.For] does not offer, wake is closed. wake may be nil.
func Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// Passing reports whether a call may succeed when it is repeated later.
func Passing(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && !Refused(err) && !Permanent(err)
}
