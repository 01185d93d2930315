package catalogue

import (
	"strings"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/op/optest"
	"parley.internal/shared/store"
)

// Each operation is called as its owner calls it, by the other callers of the same user. Callers of other users are those
// of the suite of tenancy.
func TestAttackOtherCallersOfAUserHaveTheRightsThatTheSpecGives(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB, set set) {
		c := newHub(t, db, set.name)
		for n, o := range set.ops {
			cases := o.Cases()
			e, found := owned(cases)
			if !found {
				t.Errorf("%s has no example that succeeds", o.Name)
				continue
			}
			by := []transport{overREST, overMCP}[n%2]
			for as, want := range map[op.Role]op.Right{
				"other": cases.Rights.Program, op.Unbound: cases.Rights.Unbound, op.Human: cases.Rights.Human,
			} {
				if as != e.As {
					tryRight(t, c.newUser(by), o, e, as, want)
				}
			}
		}
	})
}

// owned returns the first example that succeeds, and whether there is one.
func owned(c op.Cases) (op.Example, bool) {
	for _, e := range c.Examples {
		if e.Fault == fault.Internal {
			return e, true
		}
	}
	return op.Example{}, false
}

// tryRight makes the call of an example as another caller than its owner.
func tryRight(t *testing.T, p *user, o *op.Op, e op.Example, as op.Role, want op.Right) {
	t.Helper()
	title := optest.Title(o, e.Name) + " by " + string(as) + " over " + string(p.by)
	p.key(e.As) // its program is known
	s := p.script()
	s.Prepare(t, e.Given)
	s.Pass(e.Pass)
	in := s.Fill(e.In)
	if _, waits := in[o.Wait]; waits {
		in[o.Wait] = 1
	}
	p.key(as)
	before := p.documents(t, p.name)
	out, err := p.Call(t, o, as, in)
	after := p.documents(t, p.name)
	switch want {
	case op.May:
		if err != nil {
			t.Errorf("%s: got %v, want a success", title, err)
		}
	case op.MayNot:
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: got %s, %v; want Forbidden", title, out, err)
		}
		if after != before {
			t.Errorf("%s changed something:\nbefore %s\nafter  %s", title, before, after)
		}
	case op.OwnOnly:
		for line := range strings.SplitSeq(strings.TrimSpace(before), "\n") {
			if !strings.Contains(after, line) {
				t.Errorf("%s changed\n%s\nafter %s", title, line, after)
			}
		}
	}
}
