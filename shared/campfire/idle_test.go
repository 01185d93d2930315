package campfire

import (
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

func TestAFireIsDeletedAfterALongSilenceWithEverythingBelowIt(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		const keep = 90 * 24 * time.Hour
		h.Keep = keep
		post := func(fire, text string) {
			t.Helper()
			domaintest.Must(h.Post(t.Context(), unbound, PostInput{FireID: fire, Text: text, Author: "a"}))(t)
		}
		sweep := func(want int) {
			t.Helper()
			if n, err := h.SweepFires(t.Context(), store.NewAdmin(h.DB), 10); n != want || err != nil {
				t.Errorf("%d handled, want %d, %v", n, want, err)
			}
		}
		exists := func(fire string, want bool) {
			t.Helper()
			_, err := h.Get(t.Context(), unbound, GetInput{FireID: fire})
			if err == nil != want || !want && !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", fire, err)
			}
		}
		below := func(fire string) (n int) {
			t.Helper()
			u, all := h.DB.User("u"), store.Query{Limit: store.MaxLimit}
			n += len(domaintest.Must(messages.Under(fire).Query(t.Context(), u, all))(t).Docs)
			n += len(domaintest.Must(plans.Under(fire).Query(t.Context(), u, all))(t).Docs)
			return n + len(domaintest.Must(duels.Under(fire).Query(t.Context(), u, all))(t).Docs)
		}
		for _, fire := range []string{"quiet", "lively"} {
			domaintest.Must(h.GetOrCreate(t.Context(), unbound, FireInput{FireID: fire}))(t)
			for i := range purgeBatch + 5 {
				post(fire, fmt.Sprint(i))
			}
			domaintest.Must(h.UpdatePlan(t.Context(), unbound, PlanInput{FireID: fire, Content: "attack"}))(t)
		}
		h.Clock.Pass(keep - time.Second)
		sweep(0)
		post("lively", "still here")
		h.Clock.Pass(time.Second)
		sweep(1)
		exists("quiet", false)
		exists("lively", true)
		if n := below("quiet"); n != 0 || below("lively") != purgeBatch+7 {
			t.Errorf("%d documents are left below the quiet one, %d below the other", n, below("lively"))
		}
		sweep(0)
		h.Keep = 0 // for ever
		post("lively", "and on")
		h.Clock.Pass(10 * keep)
		sweep(0)
	})
}
