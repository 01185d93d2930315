package auth_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/fault"
)

func TestEachKeyHasItsOwnRate(t *testing.T) {
	t.Parallel()
	clock := newClock()
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
	clock.Add(500 * time.Millisecond)
	is(t, "half a second later", call("good-ann"), fine)
	is(t, "and once more", call("good-ann"), fault.Exhausted)
	clock.Add(time.Hour)
	for range 5 {
		is(t, "an hour later", call("good-ann"), fine)
	}
	is(t, "an hour later, past the burst", call("good-ann"), fault.Exhausted)
	// A refused call does not prolong the wait.
	for range 50 {
		is(t, "refused again", call("good-ann"), fault.Exhausted)
	}
	clock.Add(500 * time.Millisecond)
	is(t, "after the announced wait", call("good-ann"), fine)
}

func TestARateOfZeroIsNoLimit(t *testing.T) {
	t.Parallel()
	a := auth.New(&keyring{}, newClock().Now, auth.Limits{})
	for range 1000 {
		_, err := a.Caller(request("good-ann", here))
		is(t, "without a rate", err, fine)
	}
}

// exhaust sends bad keys from an address until it is refused, and returns the number of keys that were looked up.
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
	t.Fatal("200 bad keys were all looked up")
	return 0
}

func TestBadKeysAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	clock, r := newClock(), &keyring{}
	a := auth.New(r, clock.Now, auth.Limits{})
	_, err := a.Caller(request("good-known", here))
	is(t, "a good key", err, fine)
	exhaust(t, a, here)
	looked := r.count.Load()
	for range 10 {
		_, err = a.Caller(request("bad", here))
		is(t, "past the limit", err, fault.Exhausted)
	}
	if r.count.Load() != looked {
		t.Error("keys are looked up past the limit")
	}
	_, err = a.Caller(request("good-known", here))
	is(t, "a known key, from the same address", err, fine)
	_, err = a.Caller(request("", here))
	is(t, "no key, from the same address", err, fault.Unauthenticated)
	_, err = a.Caller(request("bad", "192.0.2.2:1000"))
	is(t, "another address", err, fault.Unauthenticated)
	_, err = a.Caller(request("bad", "192.0.2.1:2000"))
	is(t, "another port of the address", err, fault.Exhausted)
	clock.Add(2 * time.Second)
	_, err = a.Caller(request("good-new", here))
	is(t, "a good key after the wait", err, fine)
	_, err = a.Caller(request("bad", here))
	is(t, "one more bad key after the wait", err, fault.Unauthenticated)
	_, err = a.Caller(request("bad", here))
	is(t, "and another", err, fault.Exhausted)
}

func TestGoodKeysAndStoreFaultsDoNotCountAsBadKeys(t *testing.T) {
	t.Parallel()
	r := &keyring{}
	a := auth.New(r, newClock().Now, auth.Limits{})
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

func TestOnlyTheLastForwardedAddressIsTrusted(t *testing.T) {
	t.Parallel()
	proxy := "10.0.0.1:1000"
	clock := newClock()
	trusting := auth.New(&keyring{}, clock.Now, auth.Limits{TrustProxy: true})
	exhaust(t, trusting, proxy, "192.0.2.1")
	for name, c := range map[string]struct {
		forwarded []string
		want      fault.Kind
	}{
		"the same caller":                 {[]string{"192.0.2.1"}, fault.Exhausted},
		"with a made-up hop before it":    {[]string{"198.51.100.7, 192.0.2.1"}, fault.Exhausted},
		"with made-up hops":               {[]string{"198.51.100.8,203.0.113.9 , 192.0.2.1"}, fault.Exhausted},
		"with a made-up header before it": {[]string{"198.51.100.9", "192.0.2.1"}, fault.Exhausted},
		"written another way":             {[]string{"::ffff:192.0.2.1"}, fault.Exhausted},
		"another caller":                  {[]string{"192.0.2.2"}, fault.Unauthenticated},
		"another caller naming the first": {[]string{"192.0.2.1, 192.0.2.3"}, fault.Unauthenticated},
		"a caller without the header":     {nil, fault.Unauthenticated},
	} {
		_, err := trusting.Caller(request("bad", proxy, c.forwarded...))
		is(t, name, err, c.want)
	}
	// Without a proxy X-Forwarded-For is ignored.
	direct := auth.New(&keyring{}, clock.Now, auth.Limits{})
	n := 0
	for ; n < 200; n++ {
		_, err := direct.Caller(request("bad", here, fmt.Sprintf("198.51.100.%d", n)))
		if fault.Is(err, fault.Exhausted) {
			break
		}
	}
	if n == 200 {
		t.Error("without a proxy, an X-Forwarded-For of the caller got past the limit")
	}
}

func TestTheCachesAreBounded(t *testing.T) {
	t.Parallel()
	a := auth.New(&keyring{}, newClock().Now, auth.Limits{Rate: 1, Burst: 1})
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
