package team

import (
	"testing"

	"parley.internal/shared/domaintest"
)

func TestProgramsShareATeamAsItsLeadOrItsMembers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann", "bob")
		lead := domaintest.Must(w.Share(t.Context(), "u", "alpha", "ann"))(t)
		for _, c := range []struct {
			a, b string
			want bool
		}{
			{"ann", "bob", true}, {"ANN", "bob", true}, {"ann", "carl", false}, {"carl", "dora", false}, {"ann", Lead, false},
		} {
			if got := domaintest.Must(w.Share(t.Context(), "u", c.a, c.b))(t); got != c.want {
				t.Errorf("%s and %s: %t", c.a, c.b, got)
			}
		}
		if !lead {
			t.Error("the lead shares no team with a member")
		}
		if got := domaintest.Must(w.Share(t.Context(), "another", "ann", "bob"))(t); got {
			t.Error("another user's programs share it")
		}
	})
}
