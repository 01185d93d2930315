package auth

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// The limits of bad keys.
const (
	// failures is the number of bad keys that an origin may send at once; failEvery is the wait for another one.
	failures  = 30
	failEvery = 2 * time.Second
	// turns is the number of look-ups at once of an origin that has spent its failures; turnsOfAll is that of all such
	// origins. maxTurn bounds the wait for a turn.
	turns      = 4
	turnsOfAll = 32
	maxTurn    = 10 * time.Second
)

// origin is the source of requests: an IPv4 address, or a /64 network of IPv6, which is the network of one machine.
type origin struct {
	failed *rate.Limiter       // bad keys
	turns  *semaphore.Weighted // look-ups once the bad keys are spent, in the order of their arrival
	lines  *rate.Limiter       // of the log
}

func newOrigin() *origin {
	return &origin{failed: rate.NewLimiter(rate.Every(failEvery), failures), turns: semaphore.NewWeighted(turns),
		lines: rate.NewLimiter(rate.Every(lineEvery), linesAtOnce)}
}

func (a *Authenticator) origin(r *http.Request) *origin {
	return entry(a.origins, identity.Network(a.address(r)), newOrigin)
}

// Guard runs fn, which checks a secret of the request, and returns its error. Each Unauthenticated or Forbidden error
// counts against the request's origin. Once the origin has spent its failures, fn waits for its turn among the few at
// once that the origin may have, and such an error becomes Exhausted. Guard never refuses a secret before it was checked,
// unless its turn does not come within 10 seconds.
func (a *Authenticator) Guard(r *http.Request, fn func() error) error {
	return a.guard(r.Context(), a.origin(r), fn)
}

func (a *Authenticator) guard(ctx context.Context, o *origin, fn func() error) error {
	if o.failed.TokensAt(a.now()) < 1 {
		ctx, cancel := context.WithTimeout(ctx, maxTurn)
		defer cancel()
		for _, s := range []*semaphore.Weighted{o.turns, a.turns} {
			if err := s.Acquire(ctx, 1); err != nil {
				return fault.Wrap(fault.Exhausted, err,
					"so many bad keys come from this address that this key could not be checked in time").After(failEvery)
			}
			defer s.Release(1)
		}
	}
	return o.count(a.now(), fn())
}

// count counts the error of a check, and returns it, or Exhausted if the origin has spent its failures.
func (o *origin) count(now time.Time, err error) error {
	if !fault.Is(err, fault.Unauthenticated) && !fault.Is(err, fault.Forbidden) || o.failed.AllowN(now, 1) {
		return err
	}
	return fault.Wrap(fault.Exhausted, err, "%s; too many bad keys came from this address: wait before the next try",
		fault.From(err).Public()).After(failEvery)
}

// address returns the caller's address: the one that the outermost trusted proxy added to X-Forwarded-For, or that of the
// connection if there is no trusted proxy. Entries further to the left are the caller's own words. A request with too few
// entries did not come through all proxies, and one with an entry that is no address has none to trust; both count as the
// connection's.
func (a *Authenticator) address(r *http.Request) string {
	if a.proxies > 0 {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if len(hops) >= a.proxies {
			if addr, ok := identity.ParseAddress(strings.TrimSpace(hops[len(hops)-a.proxies])); ok {
				return addr.String()
			}
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
