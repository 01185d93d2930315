package campfire

import (
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/store"
)

// camp is a service on an empty store, with a clock that the test moves.
type camp struct {
	*Service
	domaintest.Clock
	t *testing.T
}

func schema() *store.Schema {
	return store.NewSchema(append(new(Service).Defs(), idempotency.Def())...)
}

func over(t *testing.T, db *store.DB) *camp {
	k := &camp{t: t}
	k.Service = &Service{DB: db, Now: k.Clock.Now}
	return k
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *camp)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

var (
	alice, bob, judy = domaintest.Bound("u", "alice"), domaintest.Bound("u", "bob"), domaintest.Bound("u", "judy")
	loose            = domaintest.Unbound("u")
	stranger         = domaintest.Unbound("v")
)

const here = "f"

func (k *camp) check(err error) {
	k.t.Helper()
	domaintest.Check(k.t, err)
}

// The steps of a duel, as the store sees them.
func (k *camp) light() {
	k.t.Helper()
	k.check(domaintest.Err(k.GetOrCreate(k.t.Context(), loose, FireInput{FireID: here})))
}

func (k *camp) throw() error {
	return domaintest.Err(k.Throw(k.t.Context(), alice, GauntletInput{FireID: here, Challenger: "alice", Target: "bob", Thesis: "It does not scale."}))
}

func (k *camp) oath() error {
	return domaintest.Err(k.TakeOath(k.t.Context(), judy, OathInput{FireID: here, Character: "judy"}))
}

func (k *camp) strike() error {
	return domaintest.Err(k.Strike(k.t.Context(), alice, StrikeInput{FireID: here, Character: "alice", Evidence: "It is quadratic."}))
}

func (k *camp) hold() error {
	return domaintest.Err(k.Hold(k.t.Context(), bob, HoldInput{FireID: here, Character: "bob", Rationale: "It is small."}))
}

func (k *camp) rule() error {
	return domaintest.Err(k.Rule(k.t.Context(), judy, VerdictInput{FireID: here, Character: "judy", Winner: Challenger, Ruling: "It grows.", Mutation: "Make it linear."}))
}

func (k *camp) abandon() error {
	return domaintest.Err(k.Abandon(k.t.Context(), loose, AbandonInput{FireID: here}))
}

func (k *camp) post(text string) error {
	return domaintest.Err(k.Post(k.t.Context(), alice, PostInput{FireID: here, Text: text}))
}

func (k *camp) plan(content string) error {
	return domaintest.Err(k.UpdatePlan(k.t.Context(), alice, PlanInput{FireID: here, Content: content}))
}

// stage brings a fire to the n-th of the stages.
func (k *camp) stage(n int) {
	k.t.Helper()
	k.light()
	for _, step := range []func() error{k.throw, k.oath, k.strike, k.hold}[:n] {
		k.check(step())
	}
}

func (k *camp) get() View {
	k.t.Helper()
	return domaintest.Must(k.Get(k.t.Context(), loose, GetInput{FireID: here}))(k.t)
}

func (k *camp) ended() []Ended {
	k.t.Helper()
	return domaintest.Must(k.Duels(k.t.Context(), loose, DuelsInput{FireID: here, Limit: 20}))(k.t).Duels
}

// kept is the fire as the store has it.
func (k *camp) kept() Fire {
	k.t.Helper()
	return domaintest.Must(fires.Get(k.t.Context(), k.DB.User("u"), here))(k.t)
}

// recorded is how many ended duels the store has.
func (k *camp) recorded() int {
	k.t.Helper()
	page, err := duels.Under(here).Query(k.t.Context(), k.DB.User("u"), store.Query{Limit: 100})
	k.check(err)
	return len(page.Docs)
}
