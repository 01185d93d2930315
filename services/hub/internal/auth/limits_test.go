package auth_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func TestEachKeyHasItsOwnRate(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	a := auth.New(&keyring{}, clock.Now, auth.Limits{Rate: 2, Burst: 5})
	call := func(key string) error {
		_, err := a.Caller(request(key, here))
		return err
	}
	for range 5 {
		is(t, "within the burst", call("good-ann"), fine)
	}
	err := call("good-ann")
	is(t, "past the burst", err, fault.Exhausted)
	if f := fault.From(err); f.RetryAfter <= 0 || f.RetryAfter > 500*time.Millisecond {
		t.Errorf("past the burst: retry after %v, want at most half a second", f.RetryAfter)
	}
	is(t, "another key of the same user", call("good-ann2"), fine)
	clock.Pass(500 * time.Millisecond)
	is(t, "half a second later", call("good-ann"), fine)
	is(t, "and once more", call("good-ann"), fault.Exhausted)
	clock.Pass(time.Hour)
	for range 5 {
		is(t, "an hour later", call("good-ann"), fine)
	}
	is(t, "an hour later, past the burst", call("good-ann"), fault.Exhausted)
	// A refused call does not prolong the wait.
	for range 50 {
		is(t, "refused again", call("good-ann"), fault.Exhausted)
	}
	clock.Pass(500 * time.Millisecond)
	is(t, "after the announced wait", call("good-ann"), fine)
}

func TestAUserHasARateOverAllItsKeys(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	a := auth.New(&keyring{}, clock.Now, auth.Limits{Rate: 2, Burst: 5, UserRate: 4, UserBurst: 8})
	call := func(key string) error {
		_, err := a.Caller(request(key, here))
		return err
	}
	for i := range 8 {
		is(t, "within the burst", call([]string{"good-ann/1", "good-ann/2"}[i%2]), fine)
	}
	err := call("good-ann/1")
	if is(t, "past the user's burst", err, fault.Exhausted); !strings.Contains(err.Error(), "this user makes, over all keys,") {
		t.Errorf("past the user's burst: %v, want the limit", err)
	}
	clock.Pass(250 * time.Millisecond)
	is(t, "a quarter of a second later", call("good-ann/1"), fine)
	is(t, "and once more", call("good-ann/2"), fault.Exhausted)
	clock.Pass(time.Hour)
	for range 5 {
		is(t, "an hour later", call("good-ann/1"), fine)
	}
	err = call("good-ann/1")
	if is(t, "past the key's burst", err, fault.Exhausted); !strings.Contains(err.Error(), "this key makes") {
		t.Errorf("past the key's burst: %v, want the limit", err)
	}
	for range 3 {
		is(t, "another key, of what is left to the user", call("good-ann/2"), fine)
	}
	is(t, "and past that", call("good-ann/2"), fault.Exhausted)
}

func TestWhatNeedsNoKeyIsLimitedByAddress(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	a := auth.New(&keyring{}, clock.Now, auth.Limits{Rate: 2, Burst: 5})
	for range 5 {
		is(t, "within the burst", a.Anonymous(request("", here)), fine)
	}
	is(t, "past the burst", a.Anonymous(request("", here)), fault.Exhausted)
	is(t, "another address", a.Anonymous(request("", "192.0.2.2:1000")), fine)
	_, err := a.Caller(request("good-ann", here))
	is(t, "a key from that address", err, fine)
	clock.Pass(500 * time.Millisecond)
	is(t, "half a second later", a.Anonymous(request("", here)), fine)
	free := auth.New(&keyring{}, clock.Now, auth.Limits{})
	for range 1000 {
		is(t, "without a rate", free.Anonymous(request("", here)), fine)
	}
}

func TestARateOfZeroIsNoLimit(t *testing.T) {
	t.Parallel()
	a := auth.New(&keyring{}, new(domaintest.Clock).Now, auth.Limits{})
	for range 1000 {
		_, err := a.Caller(request("good-ann", here))
		is(t, "without a rate", err, fine)
	}
}

// exhaust sends bad keys from an address until they are refused as too many, and returns the number of keys before that.
func exhaust(t *testing.T, a *auth.Authenticator, addr string, forwarded ...string) int {
	t.Helper()
	for n := range 200 {
		_, err := a.Caller(request(fmt.Sprintf("bad-%d", n), addr, forwarded...))
		if fault.Is(err, fault.Exhausted) {
			if fault.From(err).RetryAfter <= 0 {
				t.Error("the fault has no RetryAfter")
			}
			return n
		}
		is(t, "a bad key", err, fault.Unauthenticated)
	}
	t.Fatal("200 bad keys did not spend the limit")
	return 0
}

func TestBadKeysAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	clock, r := &domaintest.Clock{}, &keyring{}
	a := auth.New(r, clock.Now, auth.Limits{})
	if n := exhaust(t, a, here); n != 30 {
		t.Errorf("%d bad keys were answered before the limit, want 30", n)
	}
	_, err := a.Caller(request("bad", here))
	is(t, "past the limit", err, fault.Exhausted)
	if !strings.Contains(err.Error(), "this key is not known") {
		t.Errorf("past the limit: %v, want the reason too", err)
	}
	_, err = a.Caller(request("", here))
	is(t, "no key, from the same address", err, fault.Unauthenticated)
	_, err = a.Caller(request("bad", "192.0.2.2:1000"))
	is(t, "another address", err, fault.Unauthenticated)
	_, err = a.Caller(request("bad", "192.0.2.1:2000"))
	is(t, "another port of the address", err, fault.Exhausted)
	clock.Pass(2 * time.Second)
	_, err = a.Caller(request("bad", here))
	is(t, "one more bad key after the wait", err, fault.Unauthenticated)
	_, err = a.Caller(request("bad", here))
	is(t, "and another", err, fault.Exhausted)
}

func TestASignInThatIsNotAdmittedCountsAsABadKey(t *testing.T) {
	t.Parallel()
	r := &keyring{err: fault.New(fault.Forbidden, "the user ann is not admitted")}
	a := auth.New(r, new(domaintest.Clock).Now, auth.Limits{})
	for range 30 {
		_, err := a.Caller(request("a.b.c", here))
		is(t, "within the limit", err, fault.Forbidden)
	}
	_, err := a.Caller(request("a.b.c", here))
	is(t, "past the limit", err, fault.Exhausted)
}

func TestAttackAFloodOfBadKeysCostsNoGoodKeyOfItsAddress(t *testing.T) {
	t.Parallel()
	clock, r := &domaintest.Clock{}, &keyring{}
	a := auth.New(r, clock.Now, auth.Limits{})
	call := func(key string) error {
		_, err := a.Caller(request(key, here))
		return err
	}
	is(t, "a key before the flood", call("good-known"), fine)
	exhaust(t, a, here)
	for i := range 100 {
		is(t, "the flood", call(fmt.Sprintf("bad-more%d", i)), fault.Exhausted)
		is(t, "a cached key", call("good-known"), fine)
		is(t, "a key that was never seen", call(fmt.Sprintf("good-new%d", i)), fine)
	}
	clock.Pass(time.Minute)
	exhaust(t, a, here)
	is(t, "a key whose cache entry expired", call("good-known"), fine)
	r.revoke("good-known")
	a.Forget(keyID("good-known"))
	is(t, "a key that was revoked", call("good-known"), fault.Exhausted)
}

// The flood's look-ups are slow. A key that was good before passes them, and an unknown one waits for its turn.
func TestAttackAFloodOfBadKeysIsLookedUpAFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &keyring{}
		a := auth.New(r, time.Now, auth.Limits{})
		_, err := a.Caller(request("good-known", here))
		is(t, "a key before the flood", err, fine)
		time.Sleep(time.Minute) // its cached entry expires
		exhaust(t, a, here)

		var now, most atomic.Int64
		r.mu.Lock()
		r.before = func() {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(10 * time.Millisecond)
			now.Add(-1)
		}
		r.mu.Unlock()
		began := time.Now()
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				_, err := a.Caller(request(fmt.Sprintf("bad-more%d", i), here))
				is(t, "the flood", err, fault.Exhausted)
			})
		}
		synctest.Wait()
		if n := most.Load(); n != 4 {
			t.Errorf("%d bad keys are looked up at once, want 4", n)
		}
		_, err = a.Caller(request("good-known", here))
		if is(t, "a key that was good before", err, fine); time.Since(began) > 10*time.Millisecond {
			t.Errorf("a key that was good before waited %v", time.Since(began))
		}
		_, err = a.Caller(request("good-new", here))
		if is(t, "an unknown good key", err, fine); time.Since(began) > time.Second {
			t.Errorf("an unknown good key waited %v, want at most half a second for the 200 before it", time.Since(began))
		}
		_, err = a.Caller(request("good-new2", "192.0.2.2:1"))
		is(t, "another address", err, fine)
		all.Wait()
	})
}

func TestAKeyWhoseTurnDoesNotComeIsToldToComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &keyring{}
		a := auth.New(r, time.Now, auth.Limits{})
		exhaust(t, a, here)
		hold := make(chan struct{})
		r.mu.Lock()
		r.before = func() { <-hold }
		r.mu.Unlock()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() { _, _ = a.Caller(request(fmt.Sprintf("bad-slow%d", i), here)) })
		}
		synctest.Wait()
		began := time.Now()
		_, err := a.Caller(request("good-new", here))
		is(t, "behind look-ups that hang", err, fault.Exhausted)
		if took := time.Since(began); took != 10*time.Second || fault.From(err).RetryAfter <= 0 {
			t.Errorf("it was refused after %v with %v, want 10 s and a RetryAfter", took, err)
		}
		close(hold)
		all.Wait()
	})
}

func TestGoodKeysAndStoreFaultsDoNotCountAsBadKeys(t *testing.T) {
	t.Parallel()
	r := &keyring{}
	a := auth.New(r, new(domaintest.Clock).Now, auth.Limits{})
	for i := range 100 {
		_, err := a.Caller(request(fmt.Sprintf("good-%d", i), here))
		is(t, "a good key", err, fine)
	}
	r.mu.Lock()
	r.err = fault.Wrap(fault.Unavailable, errors.New("down"), "the store cannot answer")
	r.mu.Unlock()
	for i := range 100 {
		_, err := a.Caller(request(fmt.Sprintf("good-new%d", i), here))
		is(t, "an unavailable store", err, fault.Unavailable)
	}
	r.mu.Lock()
	r.err = nil
	r.mu.Unlock()
	_, err := a.Caller(request("good-new", here))
	is(t, "an available store again", err, fine)
}

func TestTheAddressIsThatOfTheOutermostTrustedProxy(t *testing.T) {
	t.Parallel()
	proxy := "10.0.0.1:1000"
	for name, c := range map[string]struct {
		proxies   int
		spent     []string // X-Forwarded-For of the origin that has spent its failures
		forwarded []string
		same      bool // the request is of that origin
	}{
		"one proxy, the same caller":              {1, []string{"192.0.2.1"}, []string{"192.0.2.1"}, true},
		"one proxy, another caller":               {1, []string{"192.0.2.1"}, []string{"192.0.2.2"}, false},
		"one proxy, written another way":          {1, []string{"192.0.2.1"}, []string{"::ffff:192.0.2.1"}, true},
		"one proxy, with a port":                  {1, []string{"192.0.2.1"}, []string{"192.0.2.1:4711"}, true},
		"one proxy, no header":                    {1, []string{"192.0.2.1"}, nil, false},
		"one proxy, IPv6 of one network":          {1, []string{"2001:db8::1"}, []string{"2001:db8::ffff:2"}, true},
		"one proxy, IPv6 with brackets":           {1, []string{"2001:db8::1"}, []string{"[2001:db8::2]:80"}, true},
		"one proxy, IPv6 of another network":      {1, []string{"2001:db8::1"}, []string{"2001:db8:0:1::1"}, false},
		"two proxies, the same caller":            {2, []string{"192.0.2.1, 35.0.0.1"}, []string{"192.0.2.1,35.0.0.2"}, true},
		"two proxies, another caller":             {2, []string{"192.0.2.1, 35.0.0.1"}, []string{"192.0.2.2, 35.0.0.1"}, false},
		"two proxies, in two headers":             {2, []string{"192.0.2.1, 35.0.0.1"}, []string{"192.0.2.1", "35.0.0.1"}, true},
		"two proxies, past the outer one":         {2, nil, []string{"192.0.2.1"}, true}, // the connection's address
		"two proxies, an entry that is a name":    {2, nil, []string{"caller, 35.0.0.1"}, true},
		"three proxies, the same caller":          {3, []string{"192.0.2.1,b,c"}, []string{"x,192.0.2.1,d,e"}, true},
		"no proxy, whatever the header":           {0, nil, []string{"192.0.2.1"}, true},
		"no proxy, whatever the header, in a row": {0, []string{"192.0.2.1"}, []string{"192.0.2.2"}, true},
	} {
		a := auth.New(&keyring{}, new(domaintest.Clock).Now, auth.Limits{Proxies: c.proxies})
		exhaust(t, a, proxy, c.spent...)
		want := fault.Unauthenticated
		if c.same {
			want = fault.Exhausted
		}
		_, err := a.Caller(request("bad", proxy, c.forwarded...))
		is(t, name, err, want)
	}
}

func TestAttackAForgedXForwardedForNeitherHidesNorBlamesAnybody(t *testing.T) {
	t.Parallel()
	proxy := "10.0.0.1:1000"
	a := auth.New(&keyring{}, new(domaintest.Clock).Now, auth.Limits{Proxies: 1})
	exhaust(t, a, proxy, "192.0.2.1")
	for name, c := range map[string]struct {
		forwarded []string
		want      fault.Kind
	}{
		"a made-up hop before it":         {[]string{"198.51.100.7, 192.0.2.1"}, fault.Exhausted},
		"made-up hops":                    {[]string{"198.51.100.8,203.0.113.9 , 192.0.2.1"}, fault.Exhausted},
		"a made-up header before it":      {[]string{"198.51.100.9", "192.0.2.1"}, fault.Exhausted},
		"a made-up empty header":          {[]string{"", "192.0.2.1"}, fault.Exhausted},
		"commas before it":                {[]string{",,,,192.0.2.1"}, fault.Exhausted},
		"a header of two lines":           {[]string{"198.51.100.7\r\nX: 1, 192.0.2.1"}, fault.Exhausted},
		"a thousand hops before it":       {[]string{strings.Repeat("198.51.100.7,", 1000) + "192.0.2.1"}, fault.Exhausted},
		"another caller naming the first": {[]string{"192.0.2.1, 192.0.2.3"}, fault.Unauthenticated},
		"another caller, in two headers":  {[]string{"192.0.2.1", "192.0.2.3"}, fault.Unauthenticated},
	} {
		_, err := a.Caller(request("bad", proxy, c.forwarded...))
		is(t, name, err, c.want)
	}
	for _, name := range []string{"Forwarded", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Client-Ip",
		"X-Forwarded-For_"} {
		r := request("bad", proxy, "192.0.2.1")
		r.Header.Set(name, "198.51.100.7")
		_, err := a.Caller(r)
		is(t, name, err, fault.Exhausted)
	}
	// Without a proxy the header is the caller's own words.
	direct := auth.New(&keyring{}, new(domaintest.Clock).Now, auth.Limits{})
	for i := range 31 {
		_, err := direct.Caller(request("bad", here, fmt.Sprintf("198.51.100.%d", i)))
		want := fault.Unauthenticated
		if i == 30 {
			want = fault.Exhausted
		}
		is(t, "without a proxy", err, want)
	}
}

func TestTheCachesAreBounded(t *testing.T) {
	t.Parallel()
	a := auth.New(&keyring{}, new(domaintest.Clock).Now, auth.Limits{Rate: 1, Burst: 1})
	good, bad := request("good", here), request("bad", here)
	for i := range auth.Remembered + 100 {
		good.Header.Set("Authorization", fmt.Sprintf("Bearer good-%d", i))
		_, err := a.Caller(good)
		is(t, "a good key", err, fine)
		bad.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)
		_, err = a.Caller(bad)
		is(t, "a bad key", err, fault.Unauthenticated)
	}
	for _, n := range a.Held() {
		if n > auth.Remembered {
			t.Errorf("the caches hold %v, want at most %d of each", a.Held(), auth.Remembered)
		}
	}
}
