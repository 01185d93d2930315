package identity

import (
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

func TestAnAddressIsTheProgramAndTheSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, session, want string }{
		{"claude", "2", "claude/2"},
		{"claude", "build", "claude/build"},
		{"claude", "claude/2", "claude/2"},
		{"claude", "Claude/2", "claude/2"},
		{"claude", "codex/2", "codex/2"},
		{"claude", "", ""},
		{"", "2", "2"},
		{"", "claude/2", "claude/2"},
	} {
		if got := Address(c.program, c.session); got != c.want {
			t.Errorf("the session %q of %q has the address %q, want %q", c.session, c.program, got, c.want)
		}
	}
}

func TestTwoNamesOfOneSessionAreTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2", "claude/2", true}, {"claude/2", "Claude/2", true}, {"2", "2", true}, {"", "", true},
		{"2", "3", false}, {"", "2", false}, {"2", "codex/2", false},
	} {
		if got := SameSession("claude", c.a, c.b); got != c.want {
			t.Errorf("%q and %q are the same: %v", c.a, c.b, got)
		}
	}
}

func TestACallBelongsToASessionThatItsCallerMayUse(t *testing.T) {
	t.Parallel()
	claude := Caller{Program: "claude", Kind: Agent}
	loose := Caller{KeyID: "k", Kind: Agent, Reserved: []string{"codex"}}
	for name, c := range map[string]struct {
		by      Caller
		session string
		want    fault.Kind
	}{
		"an id":                           {claude, "build", fault.Internal},
		"an address":                      {claude, "claude/2", fault.Internal},
		"none":                            {claude, "", fault.Internal},
		"another program's address":       {claude, "codex/2", fault.Forbidden},
		"any address, for a person":       {Caller{Kind: Human}, "codex/2", fault.Internal},
		"a free name, for an unbound key": {loose, "gamma/2", fault.Internal},
		"a program's address, for an unbound key": {loose, "codex/2", fault.Forbidden},
		"two slashes":    {claude, "claude/2/3", fault.Invalid},
		"a space":        {claude, "claude 2", fault.Invalid},
		"a line break":   {claude, "claude/2\nX: y", fault.Invalid},
		"101 characters": {claude, strings.Repeat("x", 101), fault.Invalid},
	} {
		got, err := c.by.InSession(c.session)
		if c.want == fault.Internal && (err != nil || got.Session != c.session) || c.want != fault.Internal && !fault.Is(err, c.want) {
			t.Errorf("%s: the session is %q, %v", name, got.Session, err)
		}
	}
}
