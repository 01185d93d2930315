package catalogue

import (
	"net/http"
	"testing"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
	"parley.internal/shared/op/optest"
)

// A budget is for warm caches and no contention. All examples run on Firestore here, so their outcomes are checked too.
func TestACallKeepsToItsBudgetOfRoundTrips(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, set set) {
		db, sent := domaintest.RPCs(t, app.Schema())
		c := newHub(t, db, set.name)
		for _, o := range set.ops {
			cases, fits := o.Cases(), schema(t, o.Name, o.Output)
			for _, e := range cases.Examples {
				title, p := optest.Title(o, e.Name), c.newUser(overMCP)
				s := p.script()
				s.Prepare(t, e.Given)
				s.Pass(e.Pass)
				in := s.Fill(e.In)
				p.warm(t, e.As)
				var out []byte
				var err error
				got := sent.Count(func() { out, err = p.Call(t, o, e.As, in) })
				checkOutcome(t, p, o, e, fits, out, err)
				budget := cases.Budget(e)
				if got.Total() > budget || (got.Total() == 0) != (budget == 0) {
					t.Errorf("%s sent %v, want at most %d", title, got, budget)
				}
				c.hub.Flush()
			}
		}
	})
}

// warm fills the caches that a call uses: the key's, the programs of the user, and the pauses.
func (p *user) warm(t *testing.T, as op.Role) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.hub.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.key(as))
	if _, err := p.hub.Auth.Caller(r); err != nil {
		t.Fatal(err)
	}
	if _, err := p.hub.App.Relay.Directory.Programs(t.Context(), p.name); err != nil {
		t.Fatal(err)
	}
	p.Pass(2 * time.Second) // pauses that a step has read would expire before the call
	if _, err := p.hub.Catalogue.Pauses(t.Context(), p.name); err != nil {
		t.Fatal(err)
	}
	p.hub.Flush()
}
