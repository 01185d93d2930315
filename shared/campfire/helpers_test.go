package campfire

import (
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// fixture is a service on an empty store, with a clock that the test moves.
type fixture struct {
	*Service
	domaintest.Clock
	t *testing.T
}

func schema() *store.Schema {
	return store.NewSchema(append(new(Service).Defs(), idempotency.Def())...)
}

func over(t *testing.T, db *store.DB) *fixture {
	k := &fixture{t: t}
	k.Service = &Service{DB: db, Now: k.Clock.Now}
	return k
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

var (
	alice, bob, judy = domaintest.Bound("u", "alice"), domaintest.Bound("u", "bob"), domaintest.Bound("u", "judy")
	unbound          = domaintest.Unbound("u")
	stranger         = domaintest.Unbound("v")
	mallory, human   = domaintest.Bound("u", "mallory"), domaintest.Human("u")
)

const here = "f"

func (k *fixture) check(err error) {
	k.t.Helper()
	domaintest.Check(k.t, err)
}

// light and the following methods are the steps of a debate and a duel.
func (k *fixture) light() {
	k.t.Helper()
	k.check(domaintest.Err(k.GetOrCreate(k.t.Context(), unbound, FireInput{FireID: here})))
}

func (k *fixture) throw() error {
	in := GauntletInput{FireID: here, Challenger: "alice", Target: "bob", Thesis: "It does not scale."}
	return domaintest.Err(k.Throw(k.t.Context(), alice, in))
}

func (k *fixture) throwAs(c identity.Caller, challenger, target string) error {
	in := GauntletInput{FireID: here, Challenger: challenger, Target: target, Thesis: "x"}
	return domaintest.Err(k.Throw(k.t.Context(), c, in))
}

func (k *fixture) oath() error {
	return domaintest.Err(k.TakeOath(k.t.Context(), judy, OathInput{FireID: here, Character: "judy"}))
}

func (k *fixture) strike() error {
	return domaintest.Err(
		k.Strike(k.t.Context(), alice, StrikeInput{FireID: here, Character: "alice", Evidence: "It is quadratic."}))
}

func (k *fixture) hold() error {
	return domaintest.Err(
		k.Hold(k.t.Context(), bob, HoldInput{FireID: here, Character: "bob", Rationale: "It is small."}))
}

func (k *fixture) rule() error {
	return domaintest.Err(k.Rule(k.t.Context(), judy, VerdictInput{
		FireID:    here,
		Character: "judy",
		Winner:    Challenger,
		Ruling:    "It grows.",
		Mutation:  "Make it linear.",
	}))
}

func (k *fixture) abandon() error {
	return domaintest.Err(k.Abandon(k.t.Context(), alice, AbandonInput{FireID: here}))
}

func (k *fixture) post(text string) error {
	return domaintest.Err(k.Post(k.t.Context(), alice, PostInput{FireID: here, Text: text}))
}

func (k *fixture) plan(content string) error {
	return domaintest.Err(k.UpdatePlan(k.t.Context(), alice, PlanInput{FireID: here, Content: content}))
}

// stage creates a fire and brings it to the n-th stage.
func (k *fixture) stage(n int) {
	k.t.Helper()
	k.light()
	for _, step := range []func() error{k.throw, k.oath, k.strike, k.hold}[:n] {
		k.check(step())
	}
}

func (k *fixture) get() View {
	k.t.Helper()
	return domaintest.Must(k.Get(k.t.Context(), unbound, GetInput{FireID: here}))(k.t)
}

func (k *fixture) ended() []Ended {
	k.t.Helper()
	return domaintest.Must(k.Duels(k.t.Context(), unbound, DuelsInput{FireID: here, Limit: 20}))(k.t).Duels
}

// kept returns the fire from the store.
func (k *fixture) kept() Fire {
	k.t.Helper()
	return domaintest.Must(fires.Get(k.t.Context(), k.DB.User("u"), here))(k.t)
}

// recorded returns the number of ended duels in the store.
func (k *fixture) recorded() int {
	k.t.Helper()
	page, err := duels.Under(here).Query(k.t.Context(), k.DB.User("u"), store.Query{Limit: 100})
	k.check(err)
	return len(page.Docs)
}
