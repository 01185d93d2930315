package identity

import (
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

func TestABoundKeySpeaksOnlyForItsProgram(t *testing.T) {
	t.Parallel()
	bound := Caller{Program: "alpha"}
	for given, want := range map[string]string{"": "alpha", "alpha": "alpha"} {
		got, verified, err := bound.SpeaksAs(given)
		if err != nil || got != want || !verified {
			t.Errorf("SpeaksAs(%q) = %q, %v, %v", given, got, verified, err)
		}
	}
	_, _, err := bound.SpeaksAs("beta")
	if !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "alpha") ||
		!strings.Contains(err.Error(), "beta") {
		t.Errorf("another name: %v", err)
	}
	if got, verified, err := (Caller{}).SpeaksAs("beta"); got != "beta" || verified || err != nil {
		t.Errorf("an unbound key: %q, %v, %v", got, verified, err)
	}
}

func TestScopesNarrow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scopes          []string
		write, dispatch bool
	}{
		{nil, true, true},
		{[]string{"read"}, false, true},
		{[]string{"read", "write"}, true, true},
		{[]string{"write"}, true, true},
		{[]string{"relay"}, true, false},
		{[]string{"read", "dispatch"}, false, true},
		{[]string{"admin"}, true, true},
	} {
		caller := Caller{Scopes: c.scopes}
		if caller.CanWrite() != c.write || caller.InToolset("dispatch") != c.dispatch {
			t.Errorf("%v: write %v, dispatch %v", c.scopes, caller.CanWrite(), caller.InToolset("dispatch"))
		}
		caller.ReadOnly = true
		if caller.CanWrite() {
			t.Errorf("%v writes on a read-only endpoint", c.scopes)
		}
	}
}

func TestInvalidNamesOfProgramsAreRejected(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "-a", "a b", "a/b", strings.Repeat("a", 101), "ä", "a\x00"} {
		if ValidName(bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"a", "alpha", "A.b_c-9", strings.Repeat("a", 100)} {
		if !ValidName(good) {
			t.Errorf("%q is refused", good)
		}
	}
}
