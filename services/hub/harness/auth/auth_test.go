package auth_test

import (
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

func TestACachedKeyEndsAtItsExpiry(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	db := storetest.SQLite(t, app.Schema())
	hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
	key := hub.Key("u", keys.CreateInput{Expires: 30})
	for range 3 {
		if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Errorf("before its expiry: got %s", a)
		}
		clock.Pass(9 * time.Second)
	}
	clock.Pass(3*time.Second - time.Nanosecond)
	if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 200 {
		t.Errorf("just before its expiry: got %s", a)
	}
	clock.Pass(time.Nanosecond)
	if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 401 || a.Fault().Message != "this key expired" {
		t.Errorf("at its expiry: got %s, want 401", a)
	}
}

func TestARevocationTakesEffectAtOnceAndOnOtherServersWithinAMinute(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := &domaintest.Clock{}
		here := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
		there := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
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
		if a := here.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 401 ||
			a.Fault().Message != "this key was revoked" {
			t.Errorf("on the server of the revocation: got %s, want 401", a)
		}
		if a := here.MCP(key.Key, "/mcp", hubtest.Message(1, "tools/list", nil)); a.Status != 401 {
			t.Errorf("on the server of the revocation, over MCP: got %s, want 401", a.Answer)
		}
		clock.Pass(time.Minute)
		if a := there.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 401 {
			t.Errorf("on another server, a minute later: got %s, want 401", a)
		}
	})
}

func TestTheUseOfAKeyIsRecordedAtMostEveryTenMinutes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := &domaintest.Clock{}
		hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now})
		key, human := hub.NewKey("u", keys.CreateInput{Program: "alpha"}), hub.Human("u")
		used := func() time.Time {
			t.Helper()
			hub.Flush()
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
			t.Errorf("an unused key has the last use %v", at)
		}
		first := clock.Now()
		for range 10 { // 9:10 minutes
			if a := hub.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 200 {
				t.Fatal(a)
			}
			if at := used(); !at.Equal(first) {
				t.Errorf("at %v the last use is %v, want %v", clock.Now(), at, first)
			}
			clock.Pass(55 * time.Second)
		}
		clock.Pass(50 * time.Second)
		if a := hub.REST(key.Key, "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Fatal(a)
		}
		if at := used(); !at.Equal(clock.Now()) {
			t.Errorf("ten minutes later the last use is %v, want %v", at, clock.Now())
		}
	})
}

func TestAKeyPastItsRateGets429AndATimeToRetry(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()),
		hubtest.Options{Now: clock.Now, Limits: auth.Limits{Rate: 0.25, Burst: 2}})
	key, other := hub.Agent("u", "alpha"), hub.Agent("u", "beta")
	for range 2 {
		if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 200 {
			t.Errorf("within the burst: got %s", a)
		}
	}
	for transport, a := range map[string]hubtest.Answer{
		"REST": hub.REST(key, "GET", "/v1/tasks", nil),
		"MCP":  hub.MCP(key, "/mcp", hubtest.Message(1, "tools/list", nil)).Answer,
	} {
		f, after := a.Fault(), a.Header.Get("Retry-After")
		if a.Status != 429 || after != "4" || f.Code != "RESOURCE_EXHAUSTED" || f.Message == "" {
			t.Errorf("over %s: got %s, Retry-After %q; want 429 and 4", transport, a, after)
		}
	}
	if a := hub.REST(other, "GET", "/v1/tasks", nil); a.Status != 200 {
		t.Errorf("another key: got %s", a)
	}
	clock.Pass(4 * time.Second)
	if a := hub.REST(key, "GET", "/v1/tasks", nil); a.Status != 200 {
		t.Errorf("at the time to retry: got %s", a)
	}
}
