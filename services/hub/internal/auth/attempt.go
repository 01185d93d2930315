package auth

import (
	"net/http"

	"parley.internal/shared/fault"
)

// Attempt counts the beginning of a sign-in as a bad key of the request's origin, because it costs the server a write
// before anybody is known. It fails with Exhausted once the origin has spent its failures.
func (a *Authenticator) Attempt(r *http.Request) error {
	if a.origin(r).failed.AllowN(a.now(), 1) {
		return nil
	}
	return fault.New(fault.Exhausted, "too many sign-ins were begun from this address: wait before the next try").After(failEvery)
}
