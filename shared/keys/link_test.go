package keys

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

func (r *fixture) link(user string) Link {
	r.t.Helper()
	return domaintest.Must(r.MakeLink(r.t.Context(), user, false))(r.t)
}

func TestALinkGivesAHumansKeyOnce(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		var changed []string
		r.Changed = func(user string) { changed = append(changed, user) }
		l := r.link("u")
		if want := t0.Add(10 * time.Minute); !l.ExpiresAt.Equal(want) {
			t.Errorf("it is good until %v, want %v", l.ExpiresAt, want)
		}
		out, err := r.Redeem(t.Context(), l.Code)
		if err != nil {
			t.Fatal(err)
		}
		if !out.ExpiresAt.Equal(t0.Add(90*24*time.Hour)) || out.Kind != identity.Human || len(changed) != 1 ||
			changed[0] != "u" {
			t.Errorf("it gave %+v, and told of %v", out, changed)
		}
		c, until, err := r.Lookup(t.Context(), out.Key)
		if err != nil || c.User != "u" || !c.IsHuman() || c.IsAdmin() || !c.CanWrite() || !until.Equal(out.ExpiresAt) {
			t.Errorf("its key is %+v until %v: %v", c, until, err)
		}
		if !slices.Equal(c.Scopes, []string{identity.ScopeAnswer}) {
			t.Errorf("its key has the scopes %v", c.Scopes)
		}
		if again, err := r.Redeem(t.Context(), l.Code); !fault.Is(err, fault.Unauthenticated) || again.Key != "" {
			t.Errorf("a second time: %+v, %v", again, err)
		}
		if _, err := r.Redeem(t.Context(), out.Key); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("a key as a code: %v", err)
		}
		r.unknown("a code as a key", l.Code, "this key is not known")
	})
}

func TestOfConcurrentRedemptionsOneGetsAKey(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		l := r.link("u")
		lost := domaintest.Together(8, func(int) error { return domaintest.Err(r.Redeem(t.Context(), l.Code)) })
		if len(lost) != 7 {
			t.Errorf("%d won", 8-len(lost))
		}
		for _, err := range lost {
			domaintest.Refused(t, "one that lost", err, fault.Unauthenticated)
		}
	})
}

func TestALinkExpiresAfterTenMinutes(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		late, just := r.link("u"), r.link("u")
		r.Clock.Set(t0.Add(10*time.Minute - time.Microsecond))
		if _, err := r.Redeem(t.Context(), just.Code); err != nil {
			t.Errorf("just before its end: %v", err)
		}
		r.Clock.Set(t0.Add(10 * time.Minute))
		if _, err := r.Redeem(t.Context(), late.Code); !fault.Is(err, fault.Unauthenticated) ||
			!strings.Contains(err.Error(), "parley link") {
			t.Errorf("at its end: %v", err)
		}
	})
}

func TestAnUnknownCodeAndAMalformedUserAreRefused(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		if _, err := r.MakeLink(t.Context(), "no user", false); !fault.Is(err, fault.Invalid) {
			t.Errorf("for no user: %v", err)
		}
		foreign, _ := mint(linkPrefix, "u")
		for _, code := range []string{"", "link_", foreign, strings.Repeat("x", 600)} {
			if _, err := r.Redeem(t.Context(), code); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%q: %v", code, err)
			}
		}
	})
}

func TestTheScopeOfALinksKey(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		for _, tc := range []struct {
			console bool
			scope   string
		}{{false, identity.ScopeAnswer}, {true, identity.ScopeConsole}} {
			l := domaintest.Must(r.MakeLink(t.Context(), "u", tc.console))(t)
			out := domaintest.Must(r.Redeem(t.Context(), l.Code))(t)
			c, _, err := r.Lookup(t.Context(), out.Key)
			if err != nil || !slices.Equal(c.Scopes, []string{tc.scope}) || !c.IsHuman() {
				t.Errorf("console %v: %+v, %v", tc.console, c, err)
			}
			for _, o := range r.Operations() {
				want := o.Name == "create_link" || o.Open || (tc.console && o.Name != "create_key")
				if err := o.MayCall(c); (err == nil) != want {
					t.Errorf("%s with the scope %s: %v", o.Name, tc.scope, err)
				}
			}
			if c.Reaches(identity.Reach{Toolset: "relay"}) != tc.console ||
				!c.Reaches(identity.Reach{Toolset: "signal", Scopes: []string{identity.ScopeAnswer}}) {
				t.Errorf("the scope %s reaches other than it should", tc.scope)
			}
		}
	})
}
