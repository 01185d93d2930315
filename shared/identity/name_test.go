package identity

import (
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

func TestNamesAreComparedWithoutCaseAndAfterNFC(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "Zoë", "ZOE\u0308"
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"alpha", "alpha", true}, {"alpha", "ALPHA", true}, {composed, decomposed, true}, {"straße", "STRASSE", true},
		{"Σίσυφος", "ΣΊΣΥΦΟΣ", true},
		{"alpha", "alpha ", false}, {"alpha", "аlpha", false}, {"zoe", composed, false},
		{"", "a", false},
	} {
		if Same(c.a, c.b) != c.same || Same(c.b, c.a) != c.same || (NameID(c.a) == NameID(c.b)) != c.same {
			t.Errorf("%q and %q: same %v, ids %s and %s", c.a, c.b, Same(c.a, c.b), NameID(c.a), NameID(c.b))
		}
	}
	if got, ok := Among([]string{"Beta", "alpha"}, "BETA"); got != "Beta" || !ok {
		t.Errorf("the first spelling is %s, %v", got, ok)
	}
	if got, ok := Among(nil, "BETA"); got != "BETA" || ok {
		t.Errorf("an unknown name is %s, %v", got, ok)
	}
}

func TestEveryNameHasAnIDThatAStoreAccepts(t *testing.T) {
	t.Parallel()
	names := []string{".", "..", "__x__", "_", "a/b", "a b", "名", "%2E", "a", strings.Repeat("😀", maxCharacter)}
	var seen []string
	for _, name := range names {
		id := NameID(name)
		if id == "." || id == ".." || strings.HasPrefix(id, "__") || strings.Contains(id, "/") || len(id) > 1500 ||
			slices.Contains(seen, id) {
			t.Errorf("%q has the id %s", name, id)
		}
		seen = append(seen, id)
	}
}

func TestUnknownNamesAreListedInOneWarning(t *testing.T) {
	t.Parallel()
	known := []string{"alpha", "beta"}
	if got := Unknown(known, "; it waits", "Alpha", "beta"); got != "" {
		t.Errorf("known names: %s", got)
	}
	const want = `no program named "gama", "delta" is known; it waits. Known: alpha, beta`
	if got := Unknown(known, "; it waits", "gama", "ALPHA", "delta"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Unknown(nil, "", "gama"); got != `no program named "gama" is known` {
		t.Errorf("without programs: %s", got)
	}
}

func TestACharacterOfABoundKeyIsShownWithItsProgram(t *testing.T) {
	t.Parallel()
	const longest = maxCharacter
	tail := strings.Repeat("é", longest)
	for _, c := range []struct {
		by       Caller
		name     string
		want     string
		verified bool
		fault    fault.Kind
	}{
		{alpha, "", "alpha", true, 0}, {alpha, "alpha", "alpha", true, 0}, {alpha, "ALPHA", "alpha", true, 0},
		{alpha, "Gandalf", "alpha/Gandalf", true, 0}, {alpha, "  Gandalf ", "alpha/Gandalf", true, 0},
		{alpha, "alpha/Gandalf", "alpha/Gandalf", true, 0}, {alpha, "ALPHA/Gandalf", "alpha/Gandalf", true, 0},
		{alpha, "alpha/", "alpha", true, 0}, {alpha, "alpha/a/b", "alpha/a/b", true, 0},
		{alpha, "Gandalf the \u0047rey", "alpha/Gandalf the Grey", true, 0}, {alpha, "Zoe\u0308", "alpha/Zoë", true, 0},
		{alpha, tail, "alpha/" + tail, true, 0}, {alpha, "alpha/" + tail, "alpha/" + tail, true, 0},
		{alpha, tail + "x", "", false, fault.Invalid}, {alpha, "a\nb", "", false, fault.Invalid},
		{alpha, "a\u202eb", "", false, fault.Invalid}, {alpha, "a\x1b[2Jb", "", false, fault.Invalid},
		{alpha, "beta/Gandalf", "", false, fault.Forbidden}, {alpha, "beta", "alpha/beta", true, 0},
		{loose, "Gandalf", "Gandalf", false, 0}, {loose, "", "", false, 0}, {loose, "alphabet", "alphabet", false, 0},
		{loose, "alpha", "", false, fault.Forbidden}, {loose, "ALPHA", "", false, fault.Forbidden},
		{loose, "alpha/Gandalf", "", false, fault.Forbidden}, {loose, "Alpha /Gandalf", "", false, fault.Forbidden},
		{loose, tail + "x", "", false, fault.Invalid},
		{person, "alpha", "alpha", false, 0}, {person, "alpha/Gandalf", "alpha/Gandalf", false, 0},
	} {
		c.by.Reserved = []string{"alpha", "beta"}
		whole, verified, err := c.by.Character("name", c.name)
		if c.fault != 0 {
			if !fault.Is(err, c.fault) {
				t.Errorf("%s as %q: %q, %v; want %v", c.by, c.name, whole, err, c.fault)
			}
			continue
		}
		if err != nil || whole != c.want || verified != c.verified {
			t.Errorf("%s as %q: %q, %v, %v; want %q", c.by, c.name, whole, verified, err, c.want)
		}
	}
}
