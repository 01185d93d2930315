package me

import (
	"encoding/json"
	"testing"
	"time"

	"parley.internal/shared/identity"
)

func TestACallerIsToldAllThatTheServerKnowsOfIt(t *testing.T) {
	t.Parallel()
	s := &Service{Toolsets: func() []string { return []string{"dispatch", "keys", "relay"} },
		Limits: Limits{CallsPerSecond: 5, Burst: 20, BodyBytes: 1 << 20}}
	const limits = `"limits":{"callsPerSecond":5,"burst":20,"bodyBytes":1048576,"waitMs":55000}`
	const every = `"toolsets":["dispatch","keys","relay"],`
	for name, c := range map[string]struct {
		by   identity.Caller
		want string
	}{
		"a bound key": {
			identity.Caller{User: "u", Program: "alpha", KeyID: "0123456789abcdef", Kind: identity.Agent},
			`{"user":"u","program":"alpha","actor":"alpha","keyId":"0123456789abcdef","kind":"agent","scopes":[],` +
				`"readOnly":false,` + every + limits + `}`,
		},
		"an unbound key that reads mail and expires": {
			identity.Caller{User: "u", KeyID: "0123456789abcdef", Kind: identity.Agent, Scopes: []string{"read", "relay"},
				ExpiresAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
			`{"user":"u","actor":"key:0123456789ab","keyId":"0123456789abcdef","kind":"agent","scopes":["read","relay"],` +
				`"readOnly":true,"expiresAt":"2026-03-01T12:00:00Z","toolsets":["relay"],` + limits + `}`,
		},
		"a member of a team": {
			identity.Caller{User: "u", Program: "worker", KeyID: "k", Kind: identity.Agent, Team: "crew", Member: "worker"},
			`{"user":"u","program":"worker","actor":"worker","keyId":"k","kind":"agent","scopes":[],"readOnly":false,` +
				`"team":"crew","member":"worker",` + every + limits + `}`,
		},
		"a human, on a read-only endpoint": {
			identity.Caller{User: "u", KeyID: "fedcba9876543210", Kind: identity.Human, ReadOnly: true},
			`{"user":"u","actor":"human:fedcba987654","keyId":"fedcba9876543210","kind":"human","scopes":[],` +
				`"readOnly":true,` + every + limits + `}`,
		},
		"a key for answers": {
			identity.Caller{User: "u", KeyID: "k", Kind: identity.Human, Scopes: []string{"answer"}},
			`{"user":"u","actor":"human:k","keyId":"k","kind":"human","scopes":["answer"],"readOnly":false,` +
				`"toolsets":[],` + limits + `}`,
		},
	} {
		out, err := s.WhoAmI(t.Context(), c.by, Input{})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(out); err != nil || string(text) != c.want {
			t.Errorf("%s is told %s, %v; want %s", name, text, err, c.want)
		}
	}
}

func TestEveryKeyMayAskWhoItIs(t *testing.T) {
	t.Parallel()
	o := (&Service{}).Operations()[0]
	for _, scopes := range [][]string{nil, {"read"}, {"relay"}, {"answer"}, {"runner"}, {"console"}, {"nothing"}} {
		if err := o.MayCall(identity.Caller{Scopes: scopes, ReadOnly: true}); err != nil {
			t.Errorf("%q: %v", scopes, err)
		}
	}
}
