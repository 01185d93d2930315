package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keyring is an auth.Keys in memory. The key "good-x" belongs to the user x.
type keyring struct {
	mu      sync.Mutex
	until   time.Time
	revoked map[string]bool
	err     error
	count   atomic.Int64
	// before is called by each look-up after it read the key.
	before func()
}

// Lookup implements auth.Keys.
func (r *keyring) Lookup(ctx context.Context, secret string) (identity.Caller, time.Time, error) {
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
	user, _, _ := strings.Cut(secret[5:], "/") // a user may have several keys
	return identity.Caller{User: user, KeyID: keyID(secret), Kind: identity.Agent}, until, nil
}

func (r *keyring) revoke(secret string) {
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

// is checks that an error is a fault of the kind, or nil if the kind is fine.
func is(t *testing.T, what string, err error, k fault.Kind) {
	t.Helper()
	if (err == nil) != (k < 0) || (err != nil && fault.Of(err) != k) {
		t.Errorf("%s: got %v, want %v", what, err, k)
	}
}

// fine stands for no fault.
const fine = fault.Kind(-1)

func TestAKeyIsLookedUpOnceInFiftyFiveSeconds(t *testing.T) {
	t.Parallel()
	clock, r := &domaintest.Clock{}, &keyring{}
	a := auth.New(r, clock.Now, auth.Limits{})
	for range 100 {
		c, err := a.Caller(request("good-ann", here))
		if err != nil || c.User != "ann" {
			t.Fatalf("got %+v, %v", c, err)
		}
		clock.Pass(540 * time.Millisecond)
	}
	if n := r.count.Load(); n != 1 {
		t.Errorf("100 calls in 54 s made %d look-ups, want 1", n)
	}
	clock.Pass(time.Second)
	_, err := a.Caller(request("good-ann", here))
	if is(t, "after 55 s", err, fine); r.count.Load() != 2 {
		t.Errorf("after 55 s there were %d look-ups, want 2", r.count.Load())
	}
	_, err = a.Caller(request("good-ben", here))
	if is(t, "another key", err, fine); r.count.Load() != 3 {
		t.Errorf("another key made %d look-ups, want 3", r.count.Load())
	}
}

func TestOneLookUpServesAllWaitingRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		r := &keyring{before: func() { <-hold }}
		a := auth.New(r, time.Now, auth.Limits{})
		var all sync.WaitGroup
		// The first request is cancelled. The look-up goes on for the others.
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

// A look-up that read the key before its revocation must not cache it after Forget.
func TestALookUpInProgressDoesNotCacheARevokedKey(t *testing.T) {
	t.Parallel()
	hold, entered := make(chan struct{}), make(chan struct{})
	r := &keyring{}
	r.before = func() {
		close(entered)
		<-hold
	}
	a := auth.New(r, new(domaintest.Clock).Now, auth.Limits{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = a.Caller(request("good-ann", here)) // before the revocation
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

func TestConcurrentCallersAreNotMixedUp(t *testing.T) {
	t.Parallel()
	clock, r := &domaintest.Clock{}, &keyring{}
	a := auth.New(r, clock.Now, auth.Limits{Rate: 1e6, Burst: 1e6, Proxies: 1})
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
					clock.Pass(time.Second)
				}
				if c, err := a.Caller(request("good-"+user, here)); err != nil || c.User != user {
					t.Errorf("got %+v, %v; want %s", c, err, user)
				}
			}
		})
	}
	all.Wait()
}
