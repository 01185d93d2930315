package keys

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

var (
	t0    = domaintest.Start
	human = domaintest.Human("u")
	admin = domaintest.Admin("u")
)

// fixture is a service on an empty store, with a clock that the test sets.
type fixture struct {
	*Service
	domaintest.Clock
	t *testing.T
}

func each(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	domaintest.Each(t, store.NewSchema(new(Service).Defs()...), func(t *testing.T, db *store.DB) {
		r := &fixture{t: t}
		r.Service = &Service{DB: db, Now: r.Clock.Now,
			Toolsets: func() []string { return []string{"dispatch", "relay"} }}
		test(t, r)
	})
}

func (r *fixture) create(in CreateInput) CreateOutput {
	r.t.Helper()
	return domaintest.Must(r.Create(r.t.Context(), human, in))(r.t)
}

func (r *fixture) unknown(name, secret, says string) {
	r.t.Helper()
	c, _, err := r.Lookup(r.t.Context(), secret)
	if !fault.Is(err, fault.Unauthenticated) || err.Error() != says || c.User != "" || c.KeyID != "" {
		r.t.Errorf("%s: %+v, %v", name, c, err)
	}
}

func TestALookupReturnsTheCallerOfAKey(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		for name, c := range map[string]struct {
			in    CreateInput
			want  identity.Caller
			until time.Time
		}{
			"plain": {CreateInput{}, identity.Caller{User: "u", Kind: identity.Agent}, time.Time{}},
			"bound": {CreateInput{Program: "beta", Name: "b"},
				identity.Caller{User: "u", Program: "beta", Kind: identity.Agent}, time.Time{}},
			"human": {CreateInput{Kind: identity.Human}, identity.Caller{User: "u", Kind: identity.Human},
				time.Time{}},
			"scoped": {CreateInput{Scopes: []string{"relay", "read", "relay"}},
				identity.Caller{User: "u", Kind: identity.Agent, Scopes: []string{"read", "relay"}}, time.Time{}},
			"expires": {CreateInput{Expires: 60}, identity.Caller{User: "u", Kind: identity.Agent},
				t0.Add(time.Minute)},
		} {
			out := r.create(c.in)
			got, until, err := r.Lookup(t.Context(), out.Key)
			if err != nil || got.User != c.want.User || got.Program != c.want.Program || got.Kind != c.want.Kind ||
				got.KeyID != out.ID ||
				!slices.Equal(got.Scopes, c.want.Scopes) || got.ReadOnly || !until.Equal(c.until) {
				t.Errorf("%s: %+v until %v, %v", name, got, until, err)
			}
			if !strings.HasPrefix(out.Key, "parley_") || len(out.Key) > 512 || strings.Contains(out.Key, out.ID) {
				t.Errorf("%s: the key is %s", name, out.Key)
			}
		}
	})
}

func TestAMalformedOrUnknownKeyIsUnauthenticated(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		good := r.create(CreateInput{}).Key
		foreign, _ := mint(keyPrefix, "u")
		stranger, _ := mint(keyPrefix, "nobody")
		last := good[:len(good)-1] + "a"
		if last == good {
			last = good[:len(good)-1] + "b"
		}
		for name, secret := range map[string]string{
			"empty": "", "a word": "secret", "the prefix": "parley_", "never made": foreign,
			"of an unknown user": stranger,
			"one letter changed": last, "cut": good[:len(good)-1], "longer": good + "a",
			"in capitals":  strings.ToUpper(good),
			"with a space": good + " ", "with a line": good + "\n",
			"without a user":      "parley__" + strings.Repeat("a", 52),
			"a user with a slash": "parley_" + encoding.EncodeToString([]byte("u/v")) + "_" + strings.Repeat("a", 52),
			"a user of two dots":  "parley_" + encoding.EncodeToString([]byte("..")) + "_" + strings.Repeat("a", 52),
			"very long":           "parley_" + strings.Repeat("a", 1<<16), "not text": "parley_\xff_\xff",
		} {
			r.unknown(name, secret, "this key is not known")
		}
	})
}

func TestAnExpiredKeyIsUnauthenticated(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		key := r.create(CreateInput{Expires: 60}).Key
		r.Clock.Set(t0.Add(time.Minute - time.Millisecond))
		if _, _, err := r.Lookup(t.Context(), key); err != nil {
			t.Errorf("before: %v", err)
		}
		r.Clock.Set(t0.Add(time.Minute))
		r.unknown("after", key, "this key expired")
	})
}

func TestARevokedKeyIsUnauthenticatedForGood(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		out := r.create(CreateInput{Expires: 600})
		var told []string
		r.Revoked = func(id string) { told = append(told, id) }
		v, err := r.Revoke(t.Context(), human, RevokeInput{KeyID: out.ID})
		if err != nil || !v.RevokedAt.Equal(t0) || v.ID != out.ID || !slices.Equal(told, []string{out.ID}) {
			t.Fatalf("%+v, told of %q, %v", v, told, err)
		}
		r.unknown("at once", out.Key, "this key was revoked")
		r.Clock.Set(t0.Add(time.Hour))
		if v, err := r.Revoke(t.Context(), human, RevokeInput{KeyID: out.ID}); err != nil || !v.RevokedAt.Equal(t0) {
			t.Errorf("again: %+v, %v", v, err)
		}
		r.unknown("later", out.Key, "this key was revoked")
		told = nil
		_, err = r.Revoke(t.Context(), human, RevokeInput{KeyID: "nope"})
		if !fault.Is(err, fault.NotFound) || err.Error() != `no key with id "nope"` || told != nil {
			t.Errorf("told of %q, %v", told, err)
		}
	})
}

func TestWhoHasAKeyMayEndItWhateverItMayDoElse(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		for _, in := range []CreateInput{{Program: "beta", Scopes: []string{"read"}}, {Scopes: []string{"relay"}}, {Kind: identity.Human}} {
			made, other := r.create(in), r.create(in)
			for range 2 {
				got := domaintest.Must(r.GiveBack(t.Context(), identity.Caller{}, GiveBackInput{made.Key}))(t)
				if got.ID != made.ID || got.RevokedAt.IsZero() {
					t.Errorf("got %+v", got)
				}
			}
			r.unknown("the key", made.Key, "this key was revoked")
			if _, _, err := r.Lookup(t.Context(), other.Key); err != nil {
				t.Errorf("another key: %v", err)
			}
		}
		for _, key := range []string{"parley_dQ_" + strings.Repeat("a", 52), r.create(CreateInput{}).Key[:20], r.create(CreateInput{}).ID} {
			_, err := r.GiveBack(t.Context(), human, GiveBackInput{key})
			domaintest.Refused(t, "a text that is no key", err, fault.Unauthenticated, "this key is not known")
		}
	})
}

func TestOnlyAHumanCreatesKeysOfHumansAndAdmins(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		for name, in := range map[string]CreateInput{
			"a human's": {Kind: identity.Human}, "an admin's": {Scopes: []string{"admin"}},
			"among others": {Scopes: []string{"read", "admin"}},
		} {
			if _, err := r.Create(t.Context(), admin, in); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := r.Create(t.Context(), human, in); err != nil {
				t.Errorf("%s, by a human: %v", name, err)
			}
		}
		admin, _ := r.made(Key{Scopes: []string{identity.ScopeAdmin}})
		if out, err := r.Create(t.Context(), admin, CreateInput{Program: "beta"}); err != nil ||
			out.Kind != identity.Agent {
			t.Errorf("an agent's: %+v, %v", out, err)
		}
	})
}

func TestAMalformedKeyIsRefusedAtItsField(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		for name, c := range map[string]struct {
			in          CreateInput
			field, says string
		}{
			"a scope that is none": {CreateInput{Scopes: []string{"read", "root"}}, "scopes",
				`"root" is not a scope; the scopes are read, write, admin, answer, console, runner, dispatch, relay`},
			"a kind that is none": {CreateInput{Kind: "robot"}, "kind", "agent or human"},
			"a human's program":   {CreateInput{Kind: identity.Human, Program: "beta"}, "program", "human"},
			"a bad program":       {CreateInput{Program: "a b"}, "program", "letters"},
			"a team of no runner": {CreateInput{Team: "core"}, "team", "is allowed with the scope runner only"},
			"no name of a team": {CreateInput{Scopes: []string{"runner"}, Team: "a b"}, "team",
				"must be the name of a team"},
			"the name of no program": {CreateInput{Program: "Any"}, "program", "another name"},
			"the name of the system": {CreateInput{Program: "parley"}, "program", "another name"},
		} {
			_, err := r.Create(t.Context(), human, c.in)
			domaintest.Refused(t, name, err, fault.Invalid, c.says)
			if got := domaintest.Fields(err); got != c.field {
				t.Errorf("%s: it is refused for %q", name, got)
			}
		}
		if _, err := r.Issue(t.Context(), "u/v", CreateInput{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("a bad user: %v", err)
		}
	})
}

func TestAListHasNoSecrets(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		var secrets []string
		for i := range 5 {
			r.Clock.Set(t0.Add(time.Duration(i) * time.Second))
			secrets = append(secrets, r.create(CreateInput{Name: fmt.Sprint(i), Program: "beta"}).Key)
		}
		names, in := "", ListInput{Limit: 2}
		for range 5 {
			out, err := r.List(t.Context(), human, in)
			text, _ := json.Marshal(out)
			if err != nil || strings.Contains(string(text), "parley_") {
				t.Fatalf("%s, %v", text, err)
			}
			for _, s := range secrets {
				if strings.Contains(string(text), s[strings.LastIndexByte(s, '_')+1:]) {
					t.Errorf("the list has a secret: %s", text)
				}
			}
			for _, v := range out.Keys {
				names += v.Name
			}
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		if names != "43210" {
			t.Errorf("newest first: %s", names)
		}
	})
}

func TestAUseIsRecordedAtMostOnceInTenMinutes(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		out := r.create(CreateInput{Program: "beta"})
		uses := 0
		r.Used = func(c identity.Caller) {
			uses++
			if err := r.Touch(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
		for _, step := range []struct {
			at   time.Duration
			want int
		}{{time.Minute, 1}, {2 * time.Minute, 1}, {11*time.Minute - 1, 1}, {11 * time.Minute, 2},
			{12 * time.Minute, 2}} {
			r.Clock.Set(t0.Add(step.at))
			if _, _, err := r.Lookup(t.Context(), out.Key); err != nil || uses != step.want {
				t.Errorf("at %v: noted %d times, want %d, %v", step.at, uses, step.want, err)
			}
		}
		list, err := r.List(t.Context(), human, ListInput{})
		if err != nil || len(list.Keys) != 1 || !list.Keys[0].LastUsedAt.Equal(t0.Add(11*time.Minute)) ||
			list.Keys[0].Program != "beta" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestProgramsAreThoseOfValidKeys(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		if got, err := r.Programs(t.Context(), "u"); err != nil || len(got) != 0 {
			t.Errorf("of no keys: %q, %v", got, err)
		}
		for _, p := range []string{"gamma", "alpha", "gamma", ""} {
			r.create(CreateInput{Program: p})
		}
		r.create(CreateInput{Program: "expired", Expires: 60})
		revoked := r.create(CreateInput{Program: "revoked"})
		if _, err := r.Revoke(t.Context(), human, RevokeInput{KeyID: revoked.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Issue(t.Context(), "v", CreateInput{Program: "foreign"}); err != nil {
			t.Fatal(err)
		}
		r.Clock.Set(t0.Add(time.Hour))
		if got, err := r.Programs(t.Context(), "u"); err != nil || !slices.Equal(got, []string{"alpha", "gamma"}) {
			t.Errorf("%q, %v", got, err)
		}
	})
}
