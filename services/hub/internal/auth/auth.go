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

// The limits.
const (
	// cacheFor leaves a revocation five seconds of its minute to get here.
	cacheFor = 55 * time.Second
	// failures is how many bad keys an address may show at once; failEvery is how
	// soon it may show another after that.
	failures  = 30
	failEvery = 2 * time.Second
	// remembered bounds each of the caches here; past it the least recently used entry goes.
	remembered = 10_000
)

// Keys looks keys up; until is when one expires, zero for never.
type Keys interface {
	Lookup(ctx context.Context, secret string) (caller identity.Caller, until time.Time, err error)
}

// Authenticator knows callers by their keys. Make one with [New].
type Authenticator struct {
	keys       Keys
	now        func() time.Time
	trustProxy bool
	rate       rate.Limit
	burst      int

	flight singleflight.Group
	known  *cache.Cache[identity.Caller] // by the key's hash, which is its id
	bad    *limiters                     // of failures, by address
	calls  *limiters                     // of calls, by the key's hash
}

type limiters = lru.Cache[string, *rate.Limiter]

// Limits are per instance: Rate calls a second for each key, Burst at once; a
// Rate of 0 is none. TrustProxy says that one proxy stands before the server.
type Limits struct {
	Rate       float64
	Burst      int
	TrustProxy bool
}

// New returns an authenticator that looks keys up in k.
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

// Caller is who makes the request. A missing or bad key is Unauthenticated, a
// caller over its rate and an address with too many bad keys are Exhausted.
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
		return "", fault.New(fault.Unauthenticated, "a key is required: send the header Authorization: Bearer parley_…")
	}
	scheme, secret, ok := strings.Cut(h, " ")
	if secret = strings.TrimSpace(secret); !ok || !strings.EqualFold(scheme, "bearer") || secret == "" {
		return "", fault.New(fault.Unauthenticated, "the Authorization header must be: Bearer parley_…")
	}
	return secret, nil
}

// lookup reads a key that is not cached, and caches it. One read serves all requests that wait for the same key, so it
// depends on the context of none of them.
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

// Guard runs fn, which looks at a secret that the request brought. Every Unauthenticated
// counts against the caller's address, and one with too many of them is Exhausted.
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

// Forget drops a key from the cache, by its id, and keeps a look-up under way from serving requests that come later.
func (a *Authenticator) Forget(id string) {
	a.known.Forget(id)
	a.flight.Forget(id)
}

func (a *Authenticator) spend(id string) error {
	if a.rate == rate.Inf {
		return nil
	}
	now := a.now()
	res := limiter(a.calls, id, a.rate, a.burst).ReserveN(now, 1)
	if wait := res.DelayFrom(now); wait > 0 {
		res.CancelAt(now)
		return fault.New(fault.Exhausted, "this key makes more than %g calls a second; slow down",
			float64(a.rate)).After(wait)
	}
	return nil
}

// limiter returns the limiter of a key, which begins with its whole burst where there is none.
func limiter(all *limiters, key string, every rate.Limit, burst int) *rate.Limiter {
	if l, ok := all.Get(key); ok {
		return l
	}
	made := rate.NewLimiter(every, burst)
	if l, ok, _ := all.PeekOrAdd(key, made); ok {
		return l // of a request that came at the same time
	}
	return made
}

// address is the caller's: the last hop that the one trusted proxy wrote down,
// else the connection's.
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
