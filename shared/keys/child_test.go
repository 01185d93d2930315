package keys

import (
	"context"
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

// made stores a key and returns its caller and its secret.
func (r *fixture) made(k Key) (identity.Caller, string) {
	r.t.Helper()
	secret, id := mint(keyPrefix, "u")
	k.CreatedAt = r.Clock.Now()
	if k.Kind == "" {
		k.Kind = identity.Agent
	}
	domaintest.Check(r.t, r.DB.User("u").Update(r.t.Context(), func(_ context.Context, tx *store.Tx) error {
		apiKeys.Put(tx, id, k)
		return nil
	}))
	return k.caller("u", id), secret
}

// child makes a key with a key.
func (r *fixture) child(parent identity.Caller, in CreateInput) (identity.Caller, CreateOutput) {
	r.t.Helper()
	out := domaintest.Must(r.Create(r.t.Context(), parent, in))(r.t)
	c, _, err := r.Lookup(r.t.Context(), out.Key)
	domaintest.Check(r.t, err)
	return c, out
}

func (r *fixture) valid(key string) bool {
	_, _, err := r.Lookup(r.t.Context(), key)
	return err == nil
}

func TestAChildHasWhatItsParentHasAndNoMore(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		day := t0.Add(24 * time.Hour)
		scopes := func(s ...string) []string { return s }
		for name, tc := range map[string]struct {
			parent  Key
			in      CreateInput
			want    Key    // of the child
			refused string // instead
		}{
			"of a bound key, which is left out": {Key{Program: "ci", Scopes: scopes("admin")}, CreateInput{},
				Key{Program: "ci"}, ""},
			"of a bound key, in capitals": {Key{Program: "ci", Scopes: scopes("admin")}, CreateInput{Program: "CI"},
				Key{Program: "ci"}, ""},
			"of a bound key, for another program": {Key{Program: "ci", Scopes: scopes("admin")},
				CreateInput{Program: "beta"}, Key{}, `this key speaks for "ci" and cannot make a key for "beta"`},
			"of an unbound key, for any program": {Key{Scopes: scopes("admin")}, CreateInput{Program: "beta"},
				Key{Program: "beta"}, ""},
			"of an unbound key, for none": {Key{Scopes: scopes("admin")}, CreateInput{}, Key{}, ""},
			"of a key that expires": {Key{Scopes: scopes("admin"), ExpiresAt: day}, CreateInput{},
				Key{ExpiresAt: day}, ""},
			"of a key that expires, sooner": {Key{Scopes: scopes("admin"), ExpiresAt: day}, CreateInput{Expires: 60},
				Key{ExpiresAt: t0.Add(time.Minute)}, ""},
			"of a key that expires, at the same time": {Key{Scopes: scopes("admin"), ExpiresAt: day},
				CreateInput{Expires: 24 * 3600}, Key{ExpiresAt: day}, ""},
			"of a key that expires, later": {Key{Scopes: scopes("admin"), ExpiresAt: day},
				CreateInput{Expires: 24*3600 + 1}, Key{}, "expires no later"},
			"with fewer scopes": {Key{Scopes: scopes("admin", "keys", "relay")}, CreateInput{Scopes: scopes("relay")},
				Key{Scopes: scopes("relay")}, ""},
			"with scopes that are left out": {Key{Scopes: scopes("admin", "keys", "read", "relay")}, CreateInput{},
				Key{Scopes: scopes("keys", "read", "relay")}, ""},
			"with another toolset": {Key{Scopes: scopes("admin", "keys", "relay")},
				CreateInput{Scopes: scopes("dispatch")}, Key{}, "does not have the scope dispatch"},
			"with every toolset": {Key{Scopes: scopes("admin", "keys", "relay")},
				CreateInput{Scopes: scopes("read", "write")}, Key{}, "does not have the scope to every toolset"},
			"with read alone, which is every toolset": {Key{Scopes: scopes("admin", "keys")},
				CreateInput{Scopes: scopes("read")}, Key{}, "does not have the scope to every toolset"},
			"with write, of one that reads": {Key{Scopes: scopes("admin", "read")},
				CreateInput{Scopes: scopes("write")}, Key{}, "does not have the scope write"},
			"with a toolset, which writes, of one that reads": {Key{Scopes: scopes("admin", "read")},
				CreateInput{Scopes: scopes("relay")}, Key{}, "does not have the scope write"},
			"that reads, of one that reads": {Key{Scopes: scopes("admin", "read")},
				CreateInput{Scopes: scopes("read", "relay")}, Key{Scopes: scopes("read", "relay")}, ""},
			"with the scope runner, of an agent": {Key{Scopes: scopes("admin")}, CreateInput{Scopes: scopes("runner")},
				Key{}, "does not have the scope runner"},
			"with the scope runner, of an agent that has it": {Key{Scopes: scopes("admin", "keys", "runner")},
				CreateInput{Scopes: scopes("runner"), Team: "core"}, Key{Scopes: scopes("runner"), Team: "core"}, ""},
			"for the team of its parent": {Key{Scopes: scopes("admin", "keys", "runner"), Team: "core"},
				CreateInput{Scopes: scopes("runner")}, Key{Scopes: scopes("runner"), Team: "core"}, ""},
			"for another team": {Key{Scopes: scopes("admin", "keys", "runner"), Team: "core"},
				CreateInput{Scopes: scopes("runner"), Team: "other"}, Key{}, `cannot make a key for the team "other"`},
			"with the scope runner, of a human": {Key{Kind: identity.Human},
				CreateInput{Scopes: scopes("runner"), Team: "core"}, Key{Scopes: scopes("runner"), Team: "core"}, ""},
			"with the scope runner, of a human without that toolset": {
				Key{Kind: identity.Human, Scopes: scopes("keys", "relay")}, CreateInput{Scopes: scopes("runner")}, Key{},
				"does not have the scope runner"},
			"with the scope answer, of one without": {Key{Scopes: scopes("admin", "keys")},
				CreateInput{Scopes: scopes("answer")}, Key{}, "does not have the scope answer"},
			"of the kind human, of an agent": {Key{Scopes: scopes("admin")}, CreateInput{Kind: identity.Human}, Key{},
				"only a human's key can make a key of the kind human"},
			"of the kind human, of a human with scopes": {Key{Kind: identity.Human, Scopes: scopes("keys", "signal")},
				CreateInput{Kind: identity.Human}, Key{Kind: identity.Human, Scopes: scopes("keys", "signal")}, ""},
			"of a member's key": {Key{Program: "core.ann", Team: "core", Member: "ann", Scopes: scopes("admin")},
				CreateInput{}, Key{Program: "core.ann", Team: "core", Member: "ann"}, ""},
		} {
			parent, _ := r.made(tc.parent)
			if tc.refused != "" {
				_, err := r.Create(t.Context(), parent, tc.in)
				domaintest.Refused(t, name, err, fault.Forbidden, tc.refused)
				continue
			}
			got, out := r.child(parent, tc.in)
			if tc.want.Kind == "" {
				tc.want.Kind = identity.Agent
			}
			if got.Program != tc.want.Program || !slices.Equal(got.Scopes, tc.want.Scopes) || got.Kind != tc.want.Kind ||
				!got.ExpiresAt.Equal(tc.want.ExpiresAt) || got.Team != tc.want.Team || got.Member != tc.want.Member {
				t.Errorf("%s: %+v, want %+v", name, got, tc.want)
			}
			if out.ParentID != parent.KeyID {
				t.Errorf("%s: its parent is %q", name, out.ParentID)
			}
		}
	})
}

func TestARevocationEndsAllDescendants(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		root, rootKey := r.made(Key{Kind: identity.Human})
		admin, adminKey := r.child(root, CreateInput{Scopes: []string{"admin"}})
		_, other := r.child(root, CreateInput{})
		var below []CreateOutput
		for range 3 {
			_, out := r.child(admin, CreateInput{})
			below = append(below, out)
		}
		var told []string
		r.Revoked = func(id string) { told = append(told, id) }
		for range 2 { // a repeat finishes the work of an interrupted call
			domaintest.Must(r.Revoke(t.Context(), human, RevokeInput{KeyID: admin.KeyID}))(t)
		}
		for _, out := range below {
			if r.valid(out.Key) || !slices.Contains(told, out.ID) {
				t.Errorf("a child is valid: %v, told of %v", r.valid(out.Key), told)
			}
			if k := domaintest.Must(apiKeys.Get(t.Context(), r.DB.User("u"), out.ID))(t); k.RevokedAt.IsZero() || k.PurgeAt.IsZero() {
				t.Errorf("a child's record is %+v", k)
			}
		}
		if r.valid(adminKey.Key) || !r.valid(other.Key) || !r.valid(rootKey) {
			t.Error("others than the descendants were revoked")
		}
		_, err := r.Create(t.Context(), admin, CreateInput{})
		domaintest.Refused(t, "a child of a revoked key", err, fault.Unauthenticated, "revoked")
	})
}

// The revocation of a parent is known before its descendants are recorded as revoked, and after its record is gone.
func TestAKeyIsAsValidAsThoseAboveIt(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		for name, spoil := range map[string]func(tx *store.Tx, id string){
			"revoked": func(tx *store.Tx, id string) { apiKeys.Patch(tx, id, store.Set("revokedAt", t0)) },
			"expired": func(tx *store.Tx, id string) { apiKeys.Patch(tx, id, store.Set("expiresAt", t0)) },
			"gone":    func(tx *store.Tx, id string) { apiKeys.Delete(tx, id) },
		} {
			root, _ := r.made(Key{Kind: identity.Human})
			admin, _ := r.child(root, CreateInput{Scopes: []string{"admin"}})
			_, leaf := r.child(admin, CreateInput{})
			domaintest.Check(t, r.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				spoil(tx, root.KeyID)
				return nil
			}))
			r.unknown(name, leaf.Key, "the key that made this one was revoked or has expired")
		}
		gone := domaintest.Admin("u")
		_, err := r.Create(t.Context(), gone, CreateInput{})
		domaintest.Refused(t, "a child of an agent's key that is not stored", err, fault.Unauthenticated)
		domaintest.Must(r.Create(t.Context(), human, CreateInput{}))(t) // a person who signed in has no key
	})
}

func TestKeysDescendToALimit(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		c, _ := r.made(Key{Kind: identity.Human})
		for range maxDepth {
			c, _ = r.child(c, CreateInput{Kind: identity.Human})
		}
		_, err := r.Create(t.Context(), c, CreateInput{})
		domaintest.Refused(t, "one deeper", err, fault.Precondition, "10 keys above it")
	})
}

func TestAnAgentRevokesItsOwnKeysOnly(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		ci, _ := r.made(Key{Program: "ci", Scopes: []string{"admin"}})
		loose, _ := r.made(Key{Scopes: []string{"admin"}})
		twin, _ := r.made(Key{Program: "CI"})
		alpha, _ := r.made(Key{Program: "alpha"})
		person, _ := r.made(Key{Kind: identity.Human})
		ofLoose, _ := r.child(loose, CreateInput{Program: "alpha"})
		ofCI, _ := r.child(ci, CreateInput{})
		for _, tc := range []struct {
			by, key identity.Caller
			may     bool
		}{
			{ci, alpha, false}, {ci, person, false}, {ci, loose, false}, {ci, ofLoose, false}, {ci, twin, true},
			{loose, alpha, false}, {loose, person, false}, {loose, ci, false}, {loose, ofCI, false},
			{loose, ofLoose, true}, {ci, ofCI, true}, {loose, loose, true}, {ci, ci, true}, {person, alpha, true},
		} {
			_, err := r.Revoke(t.Context(), tc.by, RevokeInput{KeyID: tc.key.KeyID})
			if tc.may != (err == nil) || !tc.may && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%v revokes the key of %v: %v, allowed: %v", tc.by, tc.key, err, tc.may)
			}
		}
	})
}

// Keys of members are many: a program must not be forgotten behind them.
func TestProgramsAreThoseOfAllKeys(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		r.made(Key{Program: "alpha"})
		domaintest.Check(t, r.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			for i := range 200 {
				apiKeys.Put(tx, fmt.Sprintf("k%d", i), Key{Kind: identity.Agent, Program: "core.ann",
					CreatedAt: t0.Add(time.Hour), RevokedAt: t0})
			}
			return nil
		}))
		domaintest.Check(t, r.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			for i := range 400 {
				apiKeys.Put(tx, fmt.Sprintf("l%d", i), Key{Kind: identity.Agent, Program: "core.bob", CreatedAt: t0.Add(time.Hour)})
			}
			return nil
		}))
		if got := domaintest.Must(r.Programs(t.Context(), "u"))(t); !slices.Equal(got, []string{"alpha", "core.bob"}) {
			t.Errorf("%q", got)
		}
	})
}

// issueMember makes the key of a member, as a team does.
func (r *fixture) issueMember(parent, team, member string) (secret, id string, err error) {
	err = r.DB.User("u").Update(r.t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		secret, id, err = r.IssueMember(ctx, tx, "u", parent, team, member)
		return err
	})
	r.Committed(r.t.Context(), "u")
	return secret, id, err
}

func TestAMembersKeyIsAChildOfTheFounders(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		until := t0.Add(time.Hour)
		founder, _ := r.made(Key{Program: "alpha", ExpiresAt: until,
			Scopes: []string{"admin", "read", "runner", "team", "write"}})
		var told []string
		r.Changed = func(user string) { told = append(told, user) }
		secret, id, err := r.issueMember(founder.KeyID, "core", "ann")
		domaintest.Check(t, err)
		c, _, err := r.Lookup(t.Context(), secret)
		if err != nil || c.KeyID != id || c.Kind != identity.Agent || c.Program != "core.ann" || c.Team != "core" ||
			c.Member != "ann" || !c.ExpiresAt.Equal(until) || !slices.Equal(told, []string{"u"}) {
			t.Errorf("%+v, %v, told of %v", c, err, told)
		}
		if !slices.Equal(c.Scopes, []string{"read", "team", "write"}) {
			t.Errorf("its scopes are %v: it may mint no keys and run no processes", c.Scopes)
		}
		if _, _, err := r.issueMember(founder.KeyID, "core", "ann"); err != nil {
			t.Errorf("the same member again: %v", err)
		}
		_, _, err = r.issueMember(founder.KeyID, "Core", "ann")
		domaintest.Refused(t, "a member of the same program", err, fault.Precondition, `"Core.ann" has a key of its own`)
		r.made(Key{Program: "CORE.BOB"})
		_, _, err = r.issueMember(founder.KeyID, "core", "bob")
		domaintest.Refused(t, "the program of another key", err, fault.Precondition, `"core.bob" has a key of its own`)
		human, _ := r.made(Key{Kind: identity.Human})
		_, _, err = r.issueMember(human.KeyID, "core", "cid")
		domaintest.Check(t, err)
		_, _, err = r.issueMember("nobody's", "core", "dan")
		domaintest.Check(t, err)
		domaintest.Must(r.Revoke(t.Context(), human, RevokeInput{KeyID: founder.KeyID}))(t)
		if r.valid(secret) {
			t.Error("it is valid after its founder's key was revoked")
		}
		_, _, err = r.issueMember(founder.KeyID, "core", "eve")
		domaintest.Refused(t, "a member of a revoked founder", err, fault.Precondition, "the key of the founder")
	})
}

func TestTheEndOfAMembersKeyEndsThoseBelowIt(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		founder, _ := r.made(Key{Program: "alpha"})
		secret, id, err := r.issueMember(founder.KeyID, "core", "ann")
		domaintest.Check(t, err)
		below, belowID, err := r.issueMember(id, "sub", "bob") // the member leads a team of its own
		domaintest.Check(t, err)
		var told []string
		r.Revoked = func(id string) { told = append(told, id) }
		for range 2 {
			domaintest.Check(t, r.DB.User("u").Update(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				write, err := r.RevokeIn(ctx, tx, id)
				if err == nil {
					write()
				}
				return err
			}))
			r.Committed(t.Context(), "u", id)
		}
		if r.valid(secret) || r.valid(below) || !slices.Contains(told, id) || !slices.Contains(told, belowID) {
			t.Errorf("valid: %v and %v, told of %v", r.valid(secret), r.valid(below), told)
		}
		if k := domaintest.Must(apiKeys.Get(t.Context(), r.DB.User("u"), belowID))(t); k.RevokedAt.IsZero() {
			t.Errorf("the key below is recorded as %+v", k)
		}
		domaintest.Check(t, r.DB.User("u").Update(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			write, err := r.RevokeIn(ctx, tx, "none")
			if err == nil {
				write()
			}
			return err
		}))
	})
}

func TestTheProgramOfAMemberIsAName(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	long := strings.Repeat("x", 64)
	for _, of := range [][2]string{{"core", "ann"}, {"_core", "ann"}, {"-core", "ann"}, {"core", "_ann"}, {"team", "core"},
		{long, "ann"}, {long, long}, {long, long[:63]}, {"team", "_core"}} {
		program := MemberProgram(of[0], of[1])
		if !identity.ValidName(program) || seen[identity.Fold(program)] != "" {
			t.Errorf("the member %s has the program %q, like %s", of, program, seen[identity.Fold(program)])
		}
		seen[identity.Fold(program)] = fmt.Sprint(of)
	}
	if got := MemberProgram("core", "ann"); got != "core.ann" {
		t.Errorf("ann of core has the program %q", got)
	}
}

func TestANewKeyOfAProgramTakesTheSpellingOfItsEarlierKeys(t *testing.T) {
	each(t, func(t *testing.T, r *fixture) {
		gone := r.create(CreateInput{Program: "bEtA"})
		domaintest.Must(r.Revoke(t.Context(), human, RevokeInput{KeyID: gone.ID}))(t)
		r.Clock.Pass(time.Second)
		r.create(CreateInput{Program: "beta"})
		r.Clock.Pass(time.Second)
		if got := r.create(CreateInput{Program: "BETA"}); got.Program != "beta" {
			t.Errorf("a key that was created is of %s", got.Program)
		}
		issued := domaintest.Must(r.Issue(t.Context(), "u", CreateInput{Program: "Beta"}))(t)
		if issued.Program != "beta" {
			t.Errorf("one of the operator is of %s", issued.Program)
		}
		d := r.pairing("")
		seen := domaintest.Must(d.approve(human, ApprovePairingInput{Program: "BETA"}))(t)
		got := domaintest.Must(d.collect())(t)
		if c, _, err := r.Lookup(t.Context(), got.Key); err != nil || seen.Program != "beta" || c.Program != "beta" {
			t.Errorf("a paired key is shown as %s, and calls as %s, %v", seen.Program, c.Program, err)
		}
		other := domaintest.Must(r.Issue(t.Context(), "v", CreateInput{Program: "BETA"}))(t)
		if other.Program != "BETA" {
			t.Errorf("another user's key is of %s", other.Program)
		}
	})
}
