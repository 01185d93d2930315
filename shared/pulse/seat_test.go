package pulse

import (
	"context"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// seat reads the session of an address.
func (w *world) seat(address string) Seat {
	w.t.Helper()
	fetches, read := w.Seat(address)
	domaintest.Check(w.t, store.Load(w.t.Context(), w.DB.User("u"), fetches...))
	return read()
}

func TestASeatIsFoundByTheAddressOfItsSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{})
		w.create(alpha, CreateInput{SessionID: "build"})
		for address, want := range map[string]bool{"alpha/1": true, "alpha/build": true, "alpha/2": false, "beta/build": false} {
			seat := w.seat(address)
			if seat.Found != want || seat.Mine(alpha) != want || seat.Mine(beta) {
				t.Errorf("%s: found %t, mine %t, another's %t", address, seat.Found, seat.Mine(alpha), seat.Mine(beta))
			}
		}
	})
}

func TestABeatKeepsASeatAliveAndSaysWhatItDoes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{})
		beat := func(seat Seat, doing string) error {
			return w.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				w.Beat(tx, seat, doing)
				return nil
			})
		}
		w.Pass(time.Minute)
		domaintest.Check(t, beat(w.seat("alpha/1"), "Bash: make"))
		if v := w.seat("alpha/1"); v.Session.Status != "Bash: make" || !v.Heard.Equal(w.Now()) {
			t.Errorf("doing %q, heard of at %v", v.Session.Status, v.Heard)
		}
		domaintest.Check(t, beat(w.seat("alpha/1"), ""))
		if v := w.seat("alpha/1"); v.Session.Status != "Bash: make" {
			t.Errorf("a heartbeat alone says %q", v.Session.Status)
		}
		gone := w.seat("alpha/1")
		gone.doc = "gone"
		domaintest.Refused(t, "a session that is not there", beat(gone, "more"), fault.NotFound)
		domaintest.Check(t, w.Close(t.Context(), alpha, "alpha/1"))
		if v := w.seat("alpha/1"); v.Session.Live() {
			t.Errorf("closed it is %s", v.Session.Lifecycle)
		}
	})
}
