package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// ring is keys that a test holds in its hand. The key "good-x" is x's.
type ring struct {
	mu      sync.Mutex
	until   time.Time
	revoked map[string]bool
	err     error
	count   atomic.Int64
	// before is called in each look-up, once the key was read.
	before func()
}

// Lookup implements auth.Keys.
func (r *ring) Lookup(ctx context.Context, secret string) (identity.Caller, time.Time, error) {
	r.count.Add(1)
	r.mu.Lock()
	revoked, err, until, before := r.revoked[secret], r.err, r.until, r.before
	r.mu.Unlock()
	if before != nil {
		before()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return identity.Caller{}, time.Time{}, err
	}
	if len(secret) < 6 || secret[:5] != "good-" || revoked {
		return identity.Caller{}, time.Time{}, fault.New(fault.Unauthenticated, "this key is not known")
	}
	return identity.Caller{User: secret[5:], KeyID: keyID(secret), Kind: identity.Agent}, until, nil
}

func (r *ring) revoke(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revoked == nil {
		r.revoked = map[string]bool{}
	}
	r.revoked[secret] = true
}

func keyID(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func request(key, addr string, forwarded ...string) *http.Request {
	r := httptest.NewRequest("GET", "/v1/tasks", nil)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	r.RemoteAddr = addr
	r.Header["X-Forwarded-For"] = forwarded
	return r
}

const here = "192.0.2.1:1000"

// is checks for a fault of the kind, and for none where it is -1.
func is(t *testing.T, what string, err error, k fault.Kind) {
	t.Helper()
	if (err == nil) != (k < 0) || (err != nil && fault.Of(err) != k) {
		t.Errorf("%s: got %v, want %v", what, err, k)
	}
}

const fine = fault.Kind(-1)

func TestAKeyIsLookedUpOnceInFiftyFiveSeconds(t *testing.T) {
	t.Parallel()
	clock, r := hubtest.NewClock(), &ring{}
	a := auth.New(r, clock.Now, auth.Limits{})
	for range 100 {
		c, err := a.Caller(request("good-ann", here))
		if err != nil || c.User != "ann" {
			t.Fatalf("got %+v, %v", c, err)
		}
		clock.Add(540 * time.Millisecond)
	}
	if n := r.count.Load(); n != 1 {
		t.Errorf("100 calls in 54 s made %d look-ups, want 1", n)
	}
	clock.Add(time.Second)
	_, err := a.Caller(request("good-ann", here))
	if is(t, "after 55 s", err, fine); r.count.Load() != 2 {
		t.Errorf("after 55 s there were %d look-ups, want 2", r.count.Load())
	}
	_, err = a.Caller(request("good-ben", here))
	if is(t, "another key", err, fine); r.count.Load() != 3 {
		t.Errorf("another key made %d look-ups, want 3", r.count.Load())
	}
}

func TestOneLookUpServesAllWhoWaitForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		r := &ring{before: func() { <-hold }}
		a := auth.New(r, time.Now, auth.Limits{})
		var all sync.WaitGroup
		// The first who asks goes away. The look-up goes on for the others.
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { _, _ = a.Caller(request("good-ann", here).WithContext(ctx)) })
		synctest.Wait()
		cancel()
		for range 20 {
			all.Go(func() {
				if c, err := a.Caller(request("good-ann", here)); err != nil || c.User != "ann" {
					t.Errorf("got %+v, %v", c, err)
				}
			})
		}
		synctest.Wait()
		close(hold)
		all.Wait()
		if n := r.count.Load(); n != 1 {
			t.Errorf("21 calls at once made %d look-ups, want 1", n)
		}
	})
}

func TestAKeyEndsAtItsExpiryAlthoughItIsCached(t *testing.T) {
	t.Parallel()
	clock := hubtest.NewClock()
	db := storetest.SQLite(t, app.Schema())
	hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
	key := hub.Key("u", keys.CreateInput{Expires: 30})
	for range 3 {
		if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Errorf("before its expiry: got %s", a)
		}
		clock.Add(9 * time.Second)
	}
	clock.Add(3*time.Second - time.Nanosecond)
	if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 200 {
		t.Errorf("just before its expiry: got %s", a)
	}
	clock.Add(time.Nanosecond)
	if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 401 || a.Fault().Message != "this key expired" {
		t.Errorf("at its expiry: got %s, want 401", a)
	}
}

func TestARevocationIsAtOnceHereAndWithinAMinuteElsewhere(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := hubtest.NewClock()
		here, there := hubtest.New(t, db, hubtest.Options{Now: clock.Now}), hubtest.New(t, db, hubtest.Options{Now: clock.Now})
		human := here.Human("u")
		key := here.NewKey("u", keys.CreateInput{Program: "alpha"})
		for _, hub := range []*hubtest.Hub{here, there} {
			if a := hub.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 200 {
				t.Fatal(a)
			}
		}
		if a := here.REST(human, "DELETE", "/v1/keys/"+key.ID, nil); a.Status != 200 {
			t.Fatal(a)
		}
		if a := here.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 401 || a.Fault().Message != "this key was revoked" {
			t.Errorf("where it was revoked: got %s, want 401", a)
		}
		if a := here.MCP(key.Key, "/mcp", hubtest.Message(1, "tools/list", nil)); a.Status != 401 {
			t.Errorf("where it was revoked, over MCP: got %s, want 401", a.Answer)
		}
		clock.Add(time.Minute)
		if a := there.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 401 {
			t.Errorf("elsewhere, a minute later: got %s, want 401", a)
		}
	})
}

// A look-up that read the key before it was revoked must not put it back into
// the cache after it was forgotten.
func TestARevocationBeatsALookUpUnderWay(t *testing.T) {
	t.Parallel()
	hold, entered := make(chan struct{}), make(chan struct{})
	r := &ring{}
	r.before = func() {
		close(entered)
		<-hold
	}
	a := auth.New(r, hubtest.NewClock().Now, auth.Limits{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = a.Caller(request("good-ann", here)) // it came before the revocation
	}()
	<-entered
	r.mu.Lock()
	r.before = nil
	r.mu.Unlock()
	r.revoke("good-ann")
	a.Forget(keyID("good-ann"))
	close(hold)
	<-done
	_, err := a.Caller(request("good-ann", here))
	is(t, "after the revocation", err, fault.Unauthenticated)
}

func TestManyCallersAtOnceKeepTheirOwnNames(t *testing.T) {
	t.Parallel()
	clock, r := hubtest.NewClock(), &ring{}
	a := auth.New(r, clock.Now, auth.Limits{Rate: 1e6, Burst: 1e6, TrustProxy: true})
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := range 200 {
				user := fmt.Sprintf("user%d", (w+i)%8)
				switch i % 20 {
				case 3:
					a.Forget(keyID("good-" + user))
				case 7:
					_, err := a.Caller(request("bad-"+user, here, fmt.Sprintf("198.51.%d.%d", w, i)))
					is(t, "a bad key", err, fault.Unauthenticated)
				case 11:
					clock.Add(time.Second)
				}
				if c, err := a.Caller(request("good-"+user, here)); err != nil || c.User != user {
					t.Errorf("got %+v, %v; want %s", c, err, user)
				}
			}
		})
	}
	all.Wait()
}

func TestTheUseOfAKeyIsNotedOnceInTenMinutes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := hubtest.NewClock()
		hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
		key, human := hub.NewKey("u", keys.CreateInput{Program: "alpha"}), hub.Human("u")
		used := func() time.Time {
			t.Helper()
			hub.Settle()
			var list struct {
				Keys []struct {
					ID         string
					LastUsedAt time.Time
				}
			}
			if err := hub.REST(human, "GET", "/v1/keys?limit=100", nil).Into(&list); err != nil {
				t.Fatal(err)
			}
			for _, k := range list.Keys {
				if k.ID == key.ID {
					return k.LastUsedAt
				}
			}
			t.Fatal("the key is not listed")
			return time.Time{}
		}
		if at := used(); !at.IsZero() {
			t.Errorf("before its first use it was used at %v", at)
		}
		first := clock.Now()
		for range 10 { // 9:10 minutes
			if a := hub.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 200 {
				t.Fatal(a)
			}
			if at := used(); !at.Equal(first) {
				t.Errorf("at %v it was used at %v, want %v", clock.Now(), at, first)
			}
			clock.Add(55 * time.Second)
		}
		clock.Add(50 * time.Second)
		if a := hub.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Fatal(a)
		}
		if at := used(); !at.Equal(clock.Now()) {
			t.Errorf("ten minutes later it was used at %v, want %v", at, clock.Now())
		}
	})
}
