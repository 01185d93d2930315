package pulse

import (
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
)

func TestTheLifeOfASessionIsReadByItsIDOrItsAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{})
		w.create(alpha, CreateInput{SessionID: "build"})
		w.create(beta, CreateInput{SessionID: "other"})
		w.Pass(time.Minute)
		w.update(alpha, UpdateInput{SessionID: "alpha/1"})
		w.update(alpha, UpdateInput{SessionID: "build", State: Complete})
		begun := domaintest.Start
		for _, c := range []struct {
			session string
			ended   bool
			heard   time.Time
		}{
			{"alpha/1", false, begun.Add(time.Minute)}, {"1", false, begun.Add(time.Minute)},
			{"build", true, begun.Add(time.Minute)}, {"alpha/build", true, begun.Add(time.Minute)},
			{"alpha/other", false, time.Time{}}, {"nowhere", false, time.Time{}},
		} {
			fetches, read := w.Life("alpha", c.session)
			domaintest.Check(t, store.Load(t.Context(), w.DB.User("u"), fetches...))
			if ended, heard := read(); ended != c.ended || !heard.Equal(c.heard) {
				t.Errorf("%s: ended %v, heard of at %v; want %v, %v", c.session, ended, heard, c.ended, c.heard)
			}
		}
	})
}
