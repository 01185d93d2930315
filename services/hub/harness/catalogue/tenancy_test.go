package catalogue

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/op/optest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// To another user, a document is as if it were nowhere: a call with its id, a name that its owner
// took or a cursor that its owner got has the outcome that it has in a database without the owner.
func TestWhatAUserHasIsNowhereToAnother(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *store.Schema, ...store.Option) *store.DB{
		"sqlite": storetest.SQLite, "firestore": storetest.Firestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crowded, empty := open(t, app.Schema()), open(t, app.Schema())
			t.Run("toolsets", func(t *testing.T) {
				eachSet(t, func(t *testing.T, set set) {
					shared, alone := newCity(t, crowded, set.name), newCity(t, empty, set.name)
					for n, o := range set.ops {
						by := []transport{overREST, overMCP}[n%2]
						for _, e := range o.Cases().Examples {
							if e.Fault != fault.Invalid { // which is refused for its form
								tryToReach(t, o, e, shared.newcomer(overREST), shared.newcomer(by), alone.newcomer(by))
							}
						}
					}
				})
			})
		})
	}
}

// tryToReach has a stranger call with the input of an owner's example, and a user alone in a
// database with ids of the same form that nothing has.
func tryToReach(t *testing.T, o *op.Op, e op.Example, owner, stranger, alone *person) {
	t.Helper()
	title, cases := optest.Title(o, e.Name)+" over "+string(stranger.by), o.Cases()
	s := owner.script()
	s.Prepare(t, e.Given)
	s.Pass(e.Pass)
	reach := s.Fill(e.In)
	if _, waits := reach[o.Wait]; waits {
		reach[o.Wait] = 1 // nothing comes
	}
	documents := owner.documents(t, owner.user)
	alone.clock.Pass(stranger.clock.Now().Sub(alone.clock.Now()))
	call := func(p *person, in op.In) (string, error) {
		out, err := p.Call(t, o, e.As, in)
		p.hub.Settle()
		return blind(in, cases, names{}.plain(said(t, out, err))), err
	}
	want, _ := call(alone, optest.Elsewhere(reach, slices.Concat(cases.Owned, cases.Named)...))
	got, err := call(stranger, reach)
	if got != want {
		t.Errorf("%s %v:\nwith the owner's ids %s\nwithout an owner     %s", title, reach, got, want)
	}
	if takes(reach, cases.Owned) && len(e.Given) > 0 && !hidden(e, got, err) {
		t.Errorf("%s %v: a stranger gets %s, want that it is not found", title, reach, got)
	}
	if now := owner.documents(t, owner.user); now != documents {
		t.Errorf("%s: a stranger changed the owner's documents:\nbefore %s\nafter  %s", title, documents, now)
	}
	// The ids would prove nothing if their owner did not reach anything with them.
	if _, err := owner.Call(t, o, e.As, reach); (err == nil) != (e.Fault == fault.Internal) {
		t.Errorf("%s %v: its owner gets %v", title, reach, err)
	}
}

// hidden says whether an outcome shows nothing of a document with an owned id.
func hidden(e op.Example, outcome string, err error) bool {
	switch {
	case fault.Is(err, fault.NotFound), strings.Contains(outcome, `"notFound":["`):
		return true
	case e.RPCs == op.NoRPCs:
		return true // it is refused before anything is read
	}
	return fault.Is(err, fault.Forbidden) && e.Fault == fault.Forbidden || fault.Is(err, fault.Invalid) && e.Fault == fault.Invalid
}

// takes says whether an input has one of the fields.
func takes(in op.In, fields []string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { _, has := in[f]; return has })
}

// blind hides times, and the ids and names of an input, in an outcome.
func blind(in op.In, cases op.Cases, outcome string) string {
	outcome = stamp.ReplaceAllString(outcome, "TIME")
	for _, name := range slices.Concat(cases.Owned, cases.Named) {
		for _, id := range texts(in[name]) {
			word := `(^|[^A-Za-z0-9])` + regexp.QuoteMeta(names{}.plain(id)) + `([^A-Za-z0-9]|$)`
			if len(id) == 1 {
				word = `(["'])` + regexp.QuoteMeta(id) + `(\\?["'])`
			}
			outcome = regexp.MustCompile(word).ReplaceAllString(outcome, "${1}ID${2}")
		}
	}
	return outcome
}

func texts(v any) []string {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		var out []string
		for _, e := range x {
			out = append(out, texts(e)...)
		}
		return out
	}
	return nil
}
