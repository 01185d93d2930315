package identity

import (
	"strings"
	"testing"

	"parley.internal/shared/fault"
)

func TestACallerSpeaksAsItsProgramOrUnderAFreeName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by       Caller
		name     string
		want     string
		verified bool
		refused  []string // the names in the message of a refusal
	}{
		{alpha, "", "alpha", true, nil}, {alpha, "alpha", "alpha", true, nil}, {alpha, "ALPHA", "alpha", true, nil},
		{alpha, "beta", "", false, []string{`"alpha"`, `"beta"`}}, {alpha, "free", "", false, []string{`"alpha"`, `"free"`}},
		{loose, "", "", false, nil}, {loose, "free", "free", false, nil},
		{loose, "alpha", "", false, []string{`"alpha"`}}, {loose, "ALPHA", "", false, []string{`"alpha"`}},
		{loose, " alpha\t", "", false, []string{`"alpha"`}}, {loose, "zoe\u0308", "", false, []string{`"Zoë"`}},
		{person, "", "", false, nil}, {person, "alpha", "alpha", false, nil}, {person, "free", "free", false, nil},
	} {
		c.by.Reserved = []string{"alpha", "beta", "Zoë"}
		got, verified, err := c.by.SpeaksAs(c.name)
		if c.refused == nil {
			if err != nil || got != c.want || verified != c.verified {
				t.Errorf("%s as %q: %q, %v, %v", c.by, c.name, got, verified, err)
			}
			continue
		}
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s as %q: %v, want Forbidden", c.by, c.name, err)
			continue
		}
		for _, name := range c.refused {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s as %q: %v does not name %s", c.by, c.name, err, name)
			}
		}
	}
}

func TestScopesReachWhatTheyName(t *testing.T) {
	t.Parallel()
	work, answer := Reach{Toolset: "dispatch"}, Reach{Toolset: "signal", Scopes: []string{ScopeAnswer}}
	secret, me := Reach{Toolset: "keys", Secret: true}, Reach{Toolset: "identity", Scopes: []string{"*"}}
	process := Reach{Toolset: "team", Scopes: []string{ScopeRunner}}
	for _, c := range []struct {
		scopes                            []string
		work, answer, secret, me, process bool
	}{
		{nil, true, true, true, true, true},
		{[]string{"read"}, true, true, true, true, true},
		{[]string{"admin"}, true, true, true, true, true},
		{[]string{"answer"}, false, true, false, true, false},
		{[]string{"runner"}, false, false, false, true, true},
		{[]string{"console"}, true, true, false, true, true},
		{[]string{"console", "keys"}, true, true, true, true, true},
		{[]string{"dispatch", "answer"}, true, true, false, true, false},
		{[]string{"read", "answer"}, false, true, false, true, false},
		{[]string{"unheard-of"}, false, false, false, true, false},
	} {
		by := Caller{Scopes: c.scopes}
		for name, r := range map[string]struct {
			to   Reach
			want bool
		}{"work": {work, c.work}, "answers": {answer, c.answer}, "secrets": {secret, c.secret}, "itself": {me, c.me},
			"processes": {process, c.process}} {
			if got := by.Reaches(r.to); got != r.want {
				t.Errorf("%v reach %s: %v", c.scopes, name, got)
			}
		}
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
