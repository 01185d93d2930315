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

// A call with the ids, names or cursors of another user has the outcome that it has in a database without that user.
func TestAUserCannotReachTheDocumentsOfAnother(t *testing.T) {
	t.Parallel()
	storetest.EachDriver(t, app.Schema(), func(t *testing.T, open func() store.Driver) {
		filled, m := openMirror(t, open)
		empty, local := mirrored(t, open), m.ReadsLocally()
		t.Run("toolsets", func(t *testing.T) {
			eachSet(t, func(t *testing.T, set set) {
				shared, alone := newHub(t, filled, set.name), newHub(t, empty, set.name)
				set.local = local
				for n, o := range set.ops {
					by := []transport{overREST, overMCP}[n%2]
					for _, e := range set.examples(o) {
						if e.Fault == fault.Invalid {
							continue // it is refused before any document is read
						}
						if takes(e.In, o.Cases().Shared) {
							continue // it is the same for every user
						}
						owner, other := shared.newUser(overREST), shared.newUser(by)
						checkForeignIDs(t, o, e, owner, other, alone.newUser(by))
					}
				}
			})
		})
	})
}

// checkForeignIDs calls with the input of the owner's example as another user of the same database. The outcome must be
// that of a user in a database without the owner, who calls with ids of the same form that no document has.
func checkForeignIDs(t *testing.T, o *op.Op, e op.Example, owner, other, alone *user) {
	t.Helper()
	title, cases := optest.Title(o, e.Name)+" over "+string(other.by), o.Cases()
	s := owner.script()
	s.Prepare(t, e.Given)
	s.Pass(e.Pass)
	input := s.Fill(e.In)
	if _, waits := input[o.Wait]; waits {
		input[o.Wait] = 1 // in vain
	}
	documents := owner.documents(t, owner.name)
	alone.clock.Pass(other.clock.Now().Sub(alone.clock.Now()))
	call := func(p *user, in op.In) (string, error) {
		out, err := p.Call(t, o, e.As, in)
		p.hub.Flush()
		return mask(in, cases, names{}.plain(outcomeText(t, out, err))), err
	}
	want, _ := call(alone, optest.Elsewhere(input, slices.Concat(cases.Owned, cases.Named)...))
	got, err := call(other, input)
	if got != want {
		t.Errorf("%s %v:\nwith the owner's ids %s\nwithout an owner     %s", title, input, got, want)
	}
	if takes(input, cases.Owned) && len(e.Given) > 0 && !hidden(e, got, err) {
		t.Errorf("%s %v: another user gets %s, want that it is not found", title, input, got)
	}
	if now := owner.documents(t, owner.name); now != documents {
		t.Errorf("%s: another user changed the owner's documents:\nbefore %s\nafter  %s", title, documents, now)
	}
	// The comparison means something only if the owner succeeds with the same input.
	if _, err := owner.Call(t, o, e.As, input); (err == nil) != (e.Fault == fault.Internal) {
		t.Errorf("%s %v: its owner gets %v", title, input, err)
	}
}

// hidden reports whether an outcome reveals nothing of a document with an owned id.
func hidden(e op.Example, outcome string, err error) bool {
	switch {
	case fault.Is(err, fault.NotFound), strings.Contains(outcome, `"notFound":["`):
		return true
	case e.RPCs == op.NoRPCs:
		return true // it is refused before any document is read
	}
	return fault.Is(err, fault.Forbidden) && e.Fault == fault.Forbidden ||
		fault.Is(err, fault.Invalid) && e.Fault == fault.Invalid
}

// takes reports whether an input has one of the fields.
func takes(in op.In, fields []string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { _, has := in[f]; return has })
}

// mask replaces the times, and the ids and names of an input, in an outcome.
func mask(in op.In, cases op.Cases, outcome string) string {
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
