package client

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"time"

	"parley.internal/shared/fault"
)

// Retry is the policy for repeating requests. A zero field has its default.
type Retry struct {
	// Attempts is the greatest number of requests of a call, 5 by default. With 1 nothing is repeated.
	Attempts int
	// First is the pause after the first attempt, 100 ms by default. Each pause is twice the one before, less up
	// to half of it by chance.
	First time.Duration
	// Longest bounds a pause that the server did not ask for, 5 s by default.
	Longest time.Duration
	// Patience is the longest pause that the server may ask for, 30 s by default. Where it asks for more, the call
	// fails at once and its fault says after which time to try again.
	Patience time.Duration
}

// NoRetry makes one request for each call.
var NoRetry = Retry{Attempts: 1}

func (r Retry) attempts() int { return cmp.Or(r.Attempts, 5) }

// pause is how long to wait after attempt n, and false where the server asks for more than the patience allows.
func (r Retry) pause(n int, asked time.Duration, jitter float64) (time.Duration, bool) {
	if asked > cmp.Or(r.Patience, 30*time.Second) {
		return 0, false
	}
	longest := cmp.Or(r.Longest, 5*time.Second)
	d := cmp.Or(r.First, 100*time.Millisecond)
	for ; n > 1 && d < longest; n-- {
		d *= 2
	}
	d = min(d, longest)
	d -= time.Duration(jitter * float64(d) / 2)
	return max(d, asked), true
}

// repeatable reports whether the same request may fare better, and does no harm.
func repeatable(m *message, e *Error) bool {
	switch {
	case e.Code == fault.Quota.Code():
		return false // there is no room until something is deleted
	case e.unsent, e.Code == fault.Conflict.Code(), e.Code == fault.Unavailable.Code(),
		e.Status == http.StatusTooManyRequests:
		return true // nothing was done
	}
	return m.harmless() && (e.Fault.Kind == fault.Unavailable || e.Fault.Kind == fault.OutcomeUnknown)
}

func jitter() float64 { return rand.Float64() }
