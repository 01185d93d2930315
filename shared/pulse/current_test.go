package pulse

import (
	"context"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// second is another key of alpha's program.
var second = identity.Caller{User: "u", Program: "alpha", KeyID: "second0000000000", Kind: identity.Agent}

// leased stores a claim of a session with a term.
func (w *world) leased(id, by, session string, term time.Duration) {
	w.t.Helper()
	domaintest.Check(w.t, w.DB.User("u").Update(w.t.Context(), func(_ context.Context, tx *store.Tx) error {
		task.Leases.Put(tx, id, task.Lease{ClaimToken: 1, ClaimedBy: by, SessionID: session, LeaseUntil: w.Now().Add(term)})
		return nil
	}))
}

// beat returns the time since the last heartbeat of a session.
func (w *world) beat(id string) time.Duration {
	w.t.Helper()
	b, found := fetch(w, heartbeats, id)
	if !found {
		w.t.Errorf("%s has no heartbeat", id)
	}
	return w.Now().Sub(b.At)
}

func TestAnUpdateWithoutAnIDIsThatOfTheKeysOwnSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "first"})
		w.Pass(time.Minute)
		w.create(second, CreateInput{SessionID: "other"})
		w.Pass(time.Minute)
		if v := w.update(alpha, UpdateInput{Progress: new(10)}); v.SessionID != "first" || w.beat("first") != 0 ||
			w.beat("other") != time.Minute {
			t.Errorf("%+v", v)
		}
		if v := w.update(second, UpdateInput{Progress: new(20)}); v.SessionID != "other" {
			t.Errorf("%+v", v)
		}
		w.Pass(time.Minute)
		w.create(alpha, CreateInput{SessionID: "newer"})
		if v := w.update(alpha, UpdateInput{}); v.SessionID != "newer" {
			t.Errorf("the newest of the key: %+v", v)
		}
		w.leased("t", "alpha", "first", time.Hour)
		if v := w.update(alpha, UpdateInput{}); v.SessionID != "first" {
			t.Errorf("that of the claim: %+v", v)
		}
		w.leased("t", "alpha", "first", 0) // its term is over
		if v := w.update(alpha, UpdateInput{}); v.SessionID != "newer" {
			t.Errorf("after the claim: %+v", v)
		}
		third := second
		third.KeyID = "third00000000000"
		if v := w.update(third, UpdateInput{}); v.SessionID != "newer" {
			t.Errorf("a key without a session: %+v", v)
		}
	})
}

// Two agents share a key, and one of them never names its session.
func TestAWorkingSessionDoesNotLapseWhileAnotherIsUpdated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, id := range []string{"works", "stolen", "idle", "newest"} {
			w.create(alpha, CreateInput{SessionID: id})
			w.Pass(time.Second)
		}
		w.leased("one", "alpha", "works", 24*time.Hour)
		w.leased("two", "alpha", "newest", 24*time.Hour)
		w.leased("three", "beta", "stolen", 24*time.Hour) // another program's claim may name any session
		for range 8 {
			w.Pass(10 * time.Minute)
			if v := w.update(alpha, UpdateInput{}); v.SessionID != "newest" {
				t.Fatalf("%+v", v)
			}
		}
		if n := domaintest.Must(w.SweepSessions(t.Context(), store.NewAdmin(w.DB), 10))(t); n != 2 {
			t.Errorf("%d sessions lapsed", n)
		}
		for id, live := range map[string]bool{"works": true, "newest": true, "idle": false, "stolen": false} {
			if v := w.get(id); (v.Lifecycle == task.Active) != live {
				t.Errorf("%s is %s", id, v.Lifecycle)
			}
		}
	})
}
