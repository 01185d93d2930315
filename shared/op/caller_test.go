package op

import (
	"context"
	"slices"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

func TestAnIdempotencyKeyBelongsToItsCaller(t *testing.T) {
	t.Parallel()
	agent := func(program, key string) identity.Caller {
		return identity.Caller{User: "u", Program: program, KeyID: key, Kind: identity.Agent}
	}
	human := identity.Caller{User: "u", Program: "alpha", KeyID: "h", Kind: identity.Human}
	callers := map[string]identity.Caller{"alpha": agent("alpha", "a1"), "alpha's other key": agent("alpha", "a2"),
		"ALPHA": agent("ALPHA", "a3"), "beta": agent("beta", "b"), "an unbound key": agent("", "k"),
		"an unbound key with a program's name for an id": agent("", "alpha"), "a human": human}
	same := []string{"alpha", "alpha's other key", "ALPHA"}
	key := func(c identity.Caller) string {
		return FillAs(c, "preset", preset{Idempotency: Idempotency{IdempotencyKey: "k"}}).Caller()
	}
	for a, one := range callers {
		for b, other := range callers {
			want := a == b || slices.Contains(same, a) && slices.Contains(same, b)
			if got := key(one) == key(other); got != want {
				t.Errorf("%s and %s share keys: %v", a, b, got)
			}
		}
		if key(one) == "" {
			t.Errorf("%s has none", a)
		}
	}
	if got := FillAs(human, "preset", preset{}).Caller(); got != "" {
		t.Errorf("without a key: %q", got)
	}
}

func TestAnAgentsCallsKnowTheNamesOfOthers(t *testing.T) {
	t.Parallel()
	var got []string
	c := NewCatalogue([]Op{New(sampleSpec, func(_ context.Context, c identity.Caller, _ sample) (sampleOut, error) {
		got = c.Reserved
		return sampleOut{}, nil
	})})
	r := &Resource{Name: "thing", Toolset: "set",
		List: func(_ context.Context, c identity.Caller, _ string, _ int) (Listing, error) {
			got = c.Reserved
			return Listing{}, nil
		}}
	var fails error
	c.Reserved = func(_ context.Context, user string) ([]string, error) { return []string{"alpha of " + user}, fails }
	for kind, want := range map[identity.KeyKind][]string{identity.Agent: {"alpha of u"}, identity.Human: nil} {
		by := Call{Caller: identity.Caller{User: "u", Kind: kind}, Input: Parse([]byte(`{"id":"a"}`))}
		if _, err := c.Call(t.Context(), c.Op("sample"), by); err != nil || !slices.Equal(got, want) {
			t.Errorf("a call of %s: %q, %v", kind, got, err)
		}
		if _, err := c.ListResources(t.Context(), r, by, "", 1); err != nil || !slices.Equal(got, want) {
			t.Errorf("a list of %s: %q, %v", kind, got, err)
		}
	}
	fails = fault.New(fault.Unavailable, "not now")
	by := Call{Caller: identity.Caller{User: "u", Kind: identity.Agent}, Input: Parse([]byte(`{"id":"a"}`))}
	if _, err := c.Call(t.Context(), c.Op("sample"), by); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without them a call is made: %v", err)
	}
	if _, err := c.ListResources(t.Context(), r, by, "", 1); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without them a list is given: %v", err)
	}
}

func TestCasesSayTheRightsOfOthers(t *testing.T) {
	t.Parallel()
	o := New(sampleSpec, echo)
	whole := Cases{Named: []string{"id"}, Examples: []Example{{In: In{"id": "a"}}}, Refused: []Refusal{{In: `{"id":"x y"}`}},
		Rights: Rights{Program: MayNot, Unbound: OwnOnly, Human: May}}
	if err := whole.Check(&o); err != nil {
		t.Error(err)
	}
	for _, lacking := range []Rights{{}, {Program: May, Unbound: May}, {Program: "maybe", Unbound: May, Human: May}} {
		whole.Rights = lacking
		if err := whole.Check(&o); err == nil {
			t.Errorf("%+v is enough", lacking)
		}
	}
}
