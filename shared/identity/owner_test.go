package identity

import "testing"

// The callers of one user.
var (
	alpha  = Caller{User: "u", Program: "alpha", KeyID: "0a00000000000000", Kind: Agent}
	shout  = Caller{User: "u", Program: "ALPHA", KeyID: "0a11111111111111", Kind: Agent}
	beta   = Caller{User: "u", Program: "beta", KeyID: "0b00000000000000", Kind: Agent}
	loose  = Caller{User: "u", KeyID: "0123456789abcdef", Kind: Agent}
	drift  = Caller{User: "u", KeyID: "0123456789ffffff", Kind: Agent}
	person = Caller{User: "u", KeyID: "fedcba9876543210", Kind: Human}
	other  = Caller{User: "u", KeyID: "ffffffffffffffff", Kind: Human}
)

func TestOwnershipBelongsToTheProgramTheKeyOrThePeople(t *testing.T) {
	t.Parallel()
	all := map[string]Caller{"alpha": alpha, "ALPHA": shout, "beta": beta, "loose": loose, "drift": drift,
		"person": person, "another person": other}
	for name, c := range map[string]struct {
		owner Owner
		is    []string
	}{
		"a program's":              {alpha.Owner(), []string{"alpha", "ALPHA"}},
		"an unbound key's":         {loose.Owner(), []string{"loose"}},
		"a person's":               {person.Owner(), nil},
		"from before owners":       {Owner{}, nil},
		"a program's, by its name": {Owner{Program: "Alpha"}, []string{"alpha", "ALPHA"}},
		// The id of a key does not make its program's things those of the key, nor the other way round.
		"a program's with a key":        {Owner{Program: "beta", KeyID: loose.KeyID}, []string{"beta"}},
		"a person's with an agent's id": {Owner{KeyID: loose.KeyID, Human: true}, nil},
	} {
		want := map[string]bool{"person": true, "another person": true}
		for _, who := range c.is {
			want[who] = true
		}
		for who, caller := range all {
			if got := c.owner.Is(caller); got != want[who] {
				t.Errorf("what is %s is %s's: %v", name, who, got)
			}
		}
	}
}

func TestMessagesNameOwnersAndCallers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{alpha.Actor(), "alpha"}, {loose.Actor(), "key:0123456789ab"}, {person.Actor(), "human:fedcba987654"},
		{Caller{}.Actor(), "key:"},
		{alpha.String(), `this key speaks for "alpha"`},
		{loose.String(), "this is key:0123456789ab, which is bound to no program"},
		{person.String(), "this key is a human's"},
		{alpha.Owner().String(), `"alpha"`}, {loose.Owner().String(), "key:0123456789ab"},
		{person.Owner().String(), "a human"}, {Owner{}.String(), "a human"},
		{alpha.Owner().Or("made it"), `"alpha", which made it, or a human`},
		{loose.Owner().Or("made it"), "key:0123456789ab, which made it, or a human"},
		{person.Owner().Or("made it"), "a human"}, {Owner{}.Or("made it"), "a human"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}
