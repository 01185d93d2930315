package task

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// The callers of one user.
var (
	beta   = identity.Caller{Program: "beta", KeyID: "0b00000000000000", Kind: identity.Agent}
	shout  = identity.Caller{Program: "BETA", KeyID: "0c00000000000000", Kind: identity.Agent}
	gamma  = identity.Caller{Program: "gamma", KeyID: "0d00000000000000", Kind: identity.Agent}
	loose  = identity.Caller{KeyID: "0123456789abcdef", Kind: identity.Agent}
	drift  = identity.Caller{KeyID: "ffffffffffffffff", Kind: identity.Agent}
	person = identity.Caller{KeyID: "fedcba9876543210", Kind: identity.Human}
)

func TestAFenceIsNoPermission(t *testing.T) {
	t.Parallel()
	const held = fault.Internal // no fault
	claim := func(by identity.Caller, token int64, session string) Task {
		return Task{Status: Active, ClaimedBy: by.Actor(), ClaimToken: token, SessionID: session}
	}
	first, later, bare := claim(beta, 1, "beta.1"), claim(beta, 3, "beta.1"), claim(beta, 3, "")
	unbound, cancelled := claim(loose, 1, "s"), claim(beta, 1, "")
	cancelled.Status, cancelled.CancelledBy, cancelled.CompletedAt = Derezzed, "alpha", time.Unix(0, 0).UTC()
	free, none := Task{Status: Created, ClaimToken: 2}, Fence{}
	for name, c := range map[string]struct {
		task  Task
		by    identity.Caller
		fence Fence
		want  fault.Kind
		words string
	}{
		"the claimant, with the token":                  {later, beta, Fence{Token: 3}, held, ""},
		"its program in capitals":                       {later, shout, Fence{Token: 3}, held, ""},
		"the claimant, by the session":                  {later, beta, Fence{SessionID: "beta.1"}, held, ""},
		"the claimant, with the token of a session":     {later, beta, Fence{3, "beta.2"}, held, ""},
		"the claimant, without a fence, first claim":    {first, beta, none, held, ""},
		"the claimant, without a fence, later claim":    {later, beta, none, fault.Precondition, "claimed 3 times"},
		"the claimant, with a stale token":              {later, beta, Fence{Token: 2}, fault.Precondition, "stale"},
		"the claimant, with a token ahead":              {later, beta, Fence{Token: 4}, fault.Precondition, "stale"},
		"a stale token, by the session":                 {later, beta, Fence{2, "beta.1"}, fault.Precondition, "stale"},
		"another session of the program":                {later, beta, Fence{SessionID: "beta.2"}, fault.Precondition, "beta.2"},
		"another session, first claim":                  {first, beta, Fence{SessionID: "beta.2"}, fault.Precondition, "beta.2"},
		"a session, of a claim without one":             {bare, beta, Fence{SessionID: "beta.1"}, fault.Precondition, "beta.1"},
		"another program, with the token":               {first, gamma, Fence{Token: 1}, fault.Forbidden, `"beta"`},
		"another program, by the session":               {first, gamma, Fence{SessionID: "beta.1"}, fault.Forbidden, `"beta"`},
		"another program, without a fence":              {first, gamma, none, fault.Forbidden, "or a human"},
		"an unbound key, with the token":                {first, loose, Fence{Token: 1}, fault.Forbidden, `"beta"`},
		"a person":                                      {later, person, none, held, ""},
		"a person, with a stale token":                  {later, person, Fence{Token: 1}, held, ""},
		"the unbound claimant":                          {unbound, loose, Fence{Token: 1}, held, ""},
		"the unbound claimant, without a token":         {unbound, loose, none, fault.Invalid, "required"},
		"the unbound claimant, by the session":          {unbound, loose, Fence{SessionID: "s"}, fault.Invalid, "required"},
		"the unbound claimant, with a stale token":      {unbound, loose, Fence{Token: 2}, fault.Precondition, "stale"},
		"another unbound key, with the token":           {unbound, drift, Fence{Token: 1}, fault.Forbidden, "key:0123456789ab"},
		"a program, of an unbound key's claim":          {unbound, beta, Fence{Token: 1}, fault.Forbidden, "key:0123456789ab"},
		"the claimant of what was cancelled":            {cancelled, beta, Fence{Token: 1}, fault.Precondition, `"alpha"`},
		"another program, of what was cancelled":        {cancelled, gamma, Fence{Token: 1}, fault.Forbidden, `"beta"`},
		"a person, of what was cancelled":               {cancelled, person, none, held, ""},
		"anybody, of what nobody holds":                 {free, beta, Fence{Token: 2}, fault.Precondition, "claim it first"},
		"a person, of what nobody holds":                {free, person, none, fault.Precondition, "claim it first"},
		"nobody's fence names what nobody holds, twice": {free, gamma, none, fault.Precondition, "nobody holds it"},
	} {
		err := c.task.Held(c.by, c.fence)
		if c.want == held && err != nil || c.want != held && !fault.Is(err, c.want) ||
			err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %v %q", name, err, c.want, c.words)
		}
	}
}

func TestAFenceNamesAClaim(t *testing.T) {
	t.Parallel()
	held, bare := &Task{ClaimToken: 2, SessionID: "s"}, &Task{ClaimToken: 2}
	for _, c := range []struct {
		fence Fence
		task  *Task
		want  bool
	}{
		{Fence{}, held, false}, {Fence{}, bare, false}, {Fence{Token: 2}, held, true}, {Fence{Token: 1}, held, false},
		{Fence{SessionID: "s"}, held, true}, {Fence{SessionID: "r"}, held, false}, {Fence{1, "s"}, held, false},
		{Fence{SessionID: "s"}, bare, false},
	} {
		if got := c.fence.Names(c.task); got != c.want {
			t.Errorf("%+v names %+v: %v", c.fence, *c.task, got)
		}
	}
}

func TestATaskFromBeforeOwnersIsItsVerifiedSources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task Task
		want identity.Owner
	}{
		"of a program":         {Task{Source: "alpha", Verified: true}, identity.Owner{Program: "alpha"}},
		"of an unbound key":    {Task{Source: "alpha"}, identity.Owner{}},
		"of today":             {Task{Source: "alpha", Verified: true, Maker: gamma.Owner()}, gamma.Owner()},
		"of today, by a human": {Task{Source: "alpha", Maker: person.Owner()}, person.Owner()},
	} {
		if got := c.task.Owner(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAQueueIsFoundByItsNameInAnySpelling(t *testing.T) {
	t.Parallel()
	made := Task{Type: Work, Target: "Beta", Fallback: []string{"GAMMA", "beta"}}
	made.Route()
	if got := strings.Join(made.Routes, " "); got != "* beta gamma" {
		t.Errorf("the routes are %s", got)
	}
	older := Task{Routes: []string{Everywhere, "Beta"}}
	for name, want := range map[string][2]bool{"beta": {true, false}, "Beta": {true, true}, "BETA": {true, false},
		"gamma": {true, false}, "delta": {false, false}} {
		for i, found := range []*Task{&made, &older} {
			if got := matches(Targets(name), found.Routes); got != want[i] {
				t.Errorf("%s finds %v: %v", name, found.Routes, got)
			}
		}
	}
}

func matches(c store.Cond, routes []string) bool {
	return slices.ContainsFunc(routes, func(r string) bool { return slices.Contains(c.Any, any(r)) })
}
