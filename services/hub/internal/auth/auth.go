package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"parley.internal/shared/cache"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Limits of the caches and of bad keys.
const (
	// cacheFor leaves five seconds of the minute within which a revocation takes effect everywhere.
	cacheFor = 55 * time.Second
	// failures is the number of bad keys that an address may send at once; failEvery is the wait for another one.
	failures  = 30
	failEvery = 2 * time.Second
	// remembered bounds the entries of each cache. Beyond it the least recently used entry is evicted.
	remembered = 10_000
)

// Keys looks up bearer secrets.
type Keys interface {
	// Lookup returns the caller that a secret belongs to, and the time at which the secret expires, zero for never.
	// It fails with Unauthenticated if the secret is unknown, revoked or expired.
	Lookup(ctx context.Context, secret string) (caller identity.Caller, until time.Time, err error)
}

// Authenticator finds callers by their keys, and caches them. Create it with [New]. It is safe for concurrent use.
type Authenticator struct {
	keys       Keys
	now        func() time.Time
	trustProxy bool
	rate       rate.Limit
	burst      int

	flight singleflight.Group
	known  *cache.Cache[identity.Caller] // by the key's hash, which is its id
	bad    *limiters                     // bad keys, by address
	calls  *limiters                     // calls, by the key's hash
}

type limiters = lru.Cache[string, *rate.Limiter]

// Limits are the limits of one server process. Rate is the number of calls a second for each key, and Burst the number
// of calls at once; a Rate of 0 or less is no limit. With TrustProxy a caller's address is the last entry of
// X-Forwarded-For, as one proxy before the server sets it.
type Limits struct {
	Rate       float64
	Burst      int
	TrustProxy bool
}

// New returns an authenticator that looks up keys in k and reads the time from now.
func New(k Keys, now func() time.Time, l Limits) *Authenticator {
	a := &Authenticator{keys: k, now: now, trustProxy: l.TrustProxy, rate: rate.Limit(l.Rate), burst: l.Burst,
		known: cache.New[identity.Caller](remembered, now), bad: newLimiters(), calls: newLimiters()}
	if l.Rate <= 0 {
		a.rate = rate.Inf
	}
	return a
}

func newLimiters() *limiters {
	l, err := lru.New[string, *rate.Limiter](remembered)
	if err != nil {
		panic("auth: " + err.Error()) // only a size below 1 is refused
	}
	return l
}

// Caller returns the caller of a request. It fails with Unauthenticated if the key is missing or bad, with Exhausted if
// the key exceeds its rate or the address sent too many bad keys, and with the fault of [Keys] if a look-up fails.
func (a *Authenticator) Caller(r *http.Request) (identity.Caller, error) {
	secret, err := bearer(r)
	if err != nil {
		return identity.Caller{}, err
	}
	sum := sha256.Sum256([]byte(secret))
	id := hex.EncodeToString(sum[:])
	caller, ok := a.known.Get(id)
	if !ok {
		if caller, err = a.lookup(r, id, secret); err != nil {
			return caller, err
		}
	}
	return caller, a.spend(id)
}

func bearer(r *http.Request) (string, error) {
	h := r.Header.Get("Authorization")
	if h == "" {
		return "", fault.New(fault.Unauthenticated,
			"a key is required: send the header Authorization: Bearer parley_…")
	}
	scheme, secret, ok := strings.Cut(h, " ")
	if secret = strings.TrimSpace(secret); !ok || !strings.EqualFold(scheme, "bearer") || secret == "" {
		return "", fault.New(fault.Unauthenticated, "the Authorization header must be: Bearer parley_…")
	}
	return secret, nil
}

// lookup reads a key that is not cached, and caches it. One read serves all requests that wait for the same key, so
// the end of one request does not cancel it.
func (a *Authenticator) lookup(r *http.Request, id, secret string) (caller identity.Caller, err error) {
	now := a.now()
	err = a.Guard(r, func() error {
		v, err, _ := a.flight.Do(id, func() (any, error) {
			return a.known.Fill(id, func() (identity.Caller, time.Time, error) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
				defer cancel()
				caller, until, err := a.keys.Lookup(ctx, secret)
				if end := now.Add(cacheFor); until.IsZero() || end.Before(until) {
					until = end
				}
				return caller, until, err
			})
		})
		caller = v.(identity.Caller)
		return err
	})
	return caller, err
}

// Guard runs fn, which checks a secret of the request, and returns its error. Each Unauthenticated error counts against
// the caller's address. Guard fails with Exhausted, without a call of fn, if the address has too many of them.
func (a *Authenticator) Guard(r *http.Request, fn func() error) error {
	bad := limiter(a.bad, a.address(r), rate.Every(failEvery), failures)
	now := a.now()
	if bad.TokensAt(now) < 1 {
		return fault.New(fault.Exhausted,
			"too many bad keys came from this address; wait before the next try").After(failEvery)
	}
	err := fn()
	if fault.Is(err, fault.Unauthenticated) {
		bad.AllowN(now, 1)
	}
	return err
}

// Forget removes a key from the cache by its id. A look-up in progress does not serve requests that arrive later.
func (a *Authenticator) Forget(id string) {
	a.known.Forget(id)
	a.flight.Forget(id)
}

// spend counts a call of the key with this id. A refused call counts for nothing.
func (a *Authenticator) spend(id string) error {
	if a.rate == rate.Inf {
		return nil
	}
	now := a.now()
	res := limiter(a.calls, id, a.rate, a.burst).ReserveN(now, 1)
	if wait := res.DelayFrom(now); wait > 0 {
		res.CancelAt(now)
		return fault.New(fault.Exhausted,
			"this key makes more than %g calls a second; slow down", float64(a.rate)).After(wait)
	}
	return nil
}

// limiter returns the limiter of a key. A new one begins with its whole burst.
func limiter(all *limiters, key string, every rate.Limit, burst int) *rate.Limiter {
	if l, ok := all.Get(key); ok {
		return l
	}
	made := rate.NewLimiter(every, burst)
	if l, ok, _ := all.PeekOrAdd(key, made); ok {
		return l // of a concurrent request
	}
	return made
}

// address returns the caller's address: the one that the trusted proxy added to X-Forwarded-For, otherwise that of the
// connection.
func (a *Authenticator) address(r *http.Request) string {
	if a.trustProxy {
		hops := r.Header.Values("X-Forwarded-For")
		if len(hops) > 0 {
			list := strings.Split(hops[len(hops)-1], ",")
			if ip := net.ParseIP(strings.TrimSpace(list[len(list)-1])); ip != nil {
				return ip.String()
			}
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
