package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"parley.internal/shared/cache"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

const (
	// cacheFor leaves five seconds of the minute within which a revocation takes effect everywhere.
	cacheFor = 55 * time.Second
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
	// Log receives a line for each refused request, limited in rate; nil for none. Set it before the first request.
	Log *slog.Logger

	keys    Keys
	now     func() time.Time
	proxies int
	ofKey   pace
	ofUser  pace

	flight  singleflight.Group
	known   *cache.Cache[identity.Caller]     // by the key's hash, which is its id
	proven  *lru.Cache[string, struct{}]      // the hashes of keys that were good when they were last looked up
	calls   *lru.Cache[string, *rate.Limiter] // calls, by the key's hash, the user's name or the address's network
	origins *lru.Cache[string, *origin]       // where requests come from, by network
	turns   *semaphore.Weighted               // of all origins that have spent their failures
	omitted omissions
}

// Limits are the limits of one server process. Rate is the number of calls a second for each key, and Burst the number
// of calls at once; UserRate and UserBurst are those for each user over all its keys. A rate of 0 or less is no limit.
// Requests without a key have the limits of a key, for each address. Proxies is the number of trusted proxies before
// the server, each of which adds an entry to X-Forwarded-For: a caller's address is the entry of that number from the
// right, and with 0 that of the connection.
type Limits struct {
	Rate      float64
	Burst     int
	UserRate  float64
	UserBurst int
	Proxies   int
}

// pace is a limit of calls.
type pace struct {
	rate  rate.Limit
	burst int
	whose string
}

func newPace(perSecond float64, burst int, whose string) pace {
	if perSecond <= 0 {
		return pace{rate: rate.Inf}
	}
	return pace{rate.Limit(perSecond), burst, whose}
}

// New returns an authenticator that looks up keys in k and reads the time from now.
func New(k Keys, now func() time.Time, l Limits) *Authenticator {
	a := &Authenticator{keys: k, now: now, proxies: l.Proxies, ofKey: newPace(l.Rate, l.Burst, "this key makes"),
		ofUser: newPace(l.UserRate, l.UserBurst, "this user makes, over all keys,"),
		known:  cache.New[identity.Caller](remembered, now), proven: newLRU[struct{}](), calls: newLRU[*rate.Limiter](),
		origins: newLRU[*origin](), turns: semaphore.NewWeighted(turnsOfAll), omitted: newOmissions()}
	return a
}

func newLRU[V any]() *lru.Cache[string, V] {
	l, err := lru.New[string, V](remembered)
	if err != nil {
		panic("auth: " + err.Error()) // only a size below 1 is refused
	}
	return l
}

// entry returns the entry of a key, which it makes if there is none.
func entry[V any](all *lru.Cache[string, V], key string, make func() V) V {
	if v, ok := all.Get(key); ok {
		return v
	}
	made := make()
	if v, ok, _ := all.PeekOrAdd(key, made); ok {
		return v // of a concurrent request
	}
	return made
}

// ErrNoKey is the cause of the fault of a request without a key.
var ErrNoKey = errors.New("no key")

// Caller returns the caller of a request, with its address and the session that the header [identity.SessionHeader] names.
// It fails with Unauthenticated if the key is missing (the cause is [ErrNoKey]) or bad; with Forbidden if a sign-in is
// good and its person is not admitted, or if the session is another program's; with Invalid if the session is malformed;
// with Exhausted if the key or its user exceeds its rate, or if the key is bad and the address sent too many bad ones;
// and with the fault of [Keys] if a look-up fails. A body counts as a call for each [Portion] that it begins, but never as
// more than may be made at once. One of unknown length is counted as it is read, which then may fail with Exhausted.
func (a *Authenticator) Caller(r *http.Request) (identity.Caller, error) {
	secret, err := bearer(r)
	if err != nil {
		return identity.Caller{}, err
	}
	id := hash(secret)
	caller, ok := a.known.Get(id)
	if !ok {
		if caller, err = a.lookup(r, id, secret); err != nil {
			return identity.Caller{}, err
		}
	}
	spend := func(from, to int) error { return a.spend(id, caller.User, from, to) }
	if err := charge(r, spend); err != nil {
		return caller, err
	}
	caller.Address = a.address(r)
	return caller.InSession(r.Header.Get(identity.SessionHeader))
}

// Stranger returns the caller of an operation that needs no key: nobody, at the address of the request. It fails with
// Exhausted if the address makes more calls than a key may.
func (a *Authenticator) Stranger(r *http.Request) (identity.Caller, error) {
	return identity.Caller{Address: a.address(r)}, a.Anonymous(r)
}

// Recheck returns an error if the key of a request, which was good, is not valid any more, as [Authenticator.Caller]
// would. It counts no call. A key in the cache is valid.
func (a *Authenticator) Recheck(r *http.Request) error {
	secret, err := bearer(r)
	if err != nil {
		return err
	}
	id := hash(secret)
	if _, ok := a.known.Get(id); ok {
		return nil
	}
	_, err = a.lookup(r, id, secret)
	return err
}

func bearer(r *http.Request) (string, error) {
	h := r.Header.Get("Authorization")
	if h == "" {
		return "", fault.Wrap(fault.Unauthenticated, ErrNoKey,
			"a key is required: send the header Authorization: Bearer parley_…")
	}
	scheme, secret, ok := strings.Cut(h, " ")
	if secret = strings.TrimSpace(secret); !ok || !strings.EqualFold(scheme, "bearer") || secret == "" {
		return "", fault.Wrap(fault.Unauthenticated, ErrNoKey, "the Authorization header must be: Bearer parley_…")
	}
	return secret, nil
}

// hash returns the id of a key.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// lookup reads a key that is not cached, and caches it. A key that was good before does not wait for the bad keys of its
// address. One read serves all requests that wait for the same key, so the end of one request does not cancel it.
func (a *Authenticator) lookup(r *http.Request, id, secret string) (caller identity.Caller, err error) {
	now := a.now()
	load := func() error {
		if c, ok := a.known.Get(id); ok { // another request has read it meanwhile
			caller = c
			return nil
		}
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
	}
	o := a.origin(r)
	if a.proven.Contains(id) {
		err = o.count(a.now(), load())
	} else {
		err = a.guard(r.Context(), o, load)
	}
	switch {
	case err == nil:
		a.proven.Add(id, struct{}{})
	case !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Internal): // the key is bad, and not the store
		a.proven.Remove(id)
	}
	return caller, err
}

// Forget removes a key from the caches by its id. A look-up in progress does not serve requests that arrive later.
func (a *Authenticator) Forget(id string) {
	a.proven.Remove(id)
	a.known.Forget(id)
	a.flight.Forget(id)
}

// spend counts a request of the key with this id, and of its user, that has counted as from calls so far, as to calls. A
// refused call counts for neither.
func (a *Authenticator) spend(id, user string, from, to int) error {
	taken, err := a.take(a.ofKey, id, from, to)
	if err != nil {
		return err
	}
	if _, err := a.take(a.ofUser, "user "+user, from, to); err != nil {
		taken()
		return err
	}
	return nil
}

// Anonymous counts a request that needs no key, by its address, against the rate of a key, as [Authenticator.Caller] does.
// It fails with Exhausted.
func (a *Authenticator) Anonymous(r *http.Request) error {
	of := a.ofKey
	of.whose = "this address makes"
	name := "address " + identity.Network(a.address(r))
	return charge(r, func(from, to int) error {
		_, err := a.take(of, name, from, to)
		return err
	})
}

// take counts a request that has counted as from calls so far as to calls against the limit that has the name, but never
// as more than the burst, so that the largest body is possible whatever the burst. undo takes that back.
func (a *Authenticator) take(p pace, name string, from, to int) (undo func(), err error) {
	n := min(to, p.burst) - min(from, p.burst)
	if p.rate == rate.Inf || n <= 0 {
		return func() {}, nil
	}
	now := a.now()
	res := entry(a.calls, name, func() *rate.Limiter { return rate.NewLimiter(p.rate, p.burst) }).ReserveN(now, n)
	if wait := res.DelayFrom(now); wait > 0 {
		res.CancelAt(now)
		return nil, p.exceeded(to).After(wait)
	}
	return func() { res.CancelAt(now) }, nil
}
