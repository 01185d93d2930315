package campfire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/once"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// camp is a service on an empty store, with a clock that the test moves.
type camp struct {
	*Service
	storetest.Clock
	t *testing.T
}

func schema() *store.Schema { return store.NewSchema(append(Defs(), once.Def())...) }

func over(t *testing.T, db *store.DB) *camp {
	k := &camp{t: t}
	k.Service = &Service{DB: db, Now: k.Clock.Now}
	return k
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *camp)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

func bound(program string) identity.Caller {
	return identity.Caller{User: "u", Program: program, KeyID: "key-of-" + program, Kind: identity.Agent}
}

var (
	alice, bob, judy = bound("alice"), bound("bob"), bound("judy")
	loose            = identity.Caller{User: "u", KeyID: "0123456789abcdef", Kind: identity.Agent}
	stranger         = identity.Caller{User: "v", KeyID: "fedcba9876543210", Kind: identity.Agent}
)

const here = "f"

func (k *camp) check(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

// The steps of a duel, as the store sees them.
func (k *camp) light() {
	k.t.Helper()
	k.check(second(k.GetOrCreate(k.t.Context(), loose, FireInput{FireID: here})))
}

func (k *camp) throw() error {
	return second(k.Throw(k.t.Context(), alice, GauntletInput{FireID: here, Challenger: "alice", Target: "bob", Thesis: "It does not scale."}))
}

func (k *camp) oath() error {
	return second(k.TakeOath(k.t.Context(), judy, OathInput{FireID: here, Character: "judy"}))
}

func (k *camp) strike() error {
	return second(k.Strike(k.t.Context(), alice, StrikeInput{FireID: here, Character: "alice", Evidence: "It is quadratic."}))
}

func (k *camp) hold() error {
	return second(k.Hold(k.t.Context(), bob, HoldInput{FireID: here, Character: "bob", Rationale: "It is small."}))
}

func (k *camp) rule() error {
	return second(k.Rule(k.t.Context(), judy, VerdictInput{FireID: here, Character: "judy", Winner: Challenger, Ruling: "It grows.", Mutation: "Make it linear."}))
}

func (k *camp) abandon() error {
	return second(k.Abandon(k.t.Context(), loose, AbandonInput{FireID: here}))
}

func (k *camp) post(text string) error {
	return second(k.Post(k.t.Context(), alice, PostInput{FireID: here, Text: text}))
}

func (k *camp) plan(content string) error {
	return second(k.UpdatePlan(k.t.Context(), alice, PlanInput{FireID: here, Content: content}))
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
	v, err := k.Get(k.t.Context(), loose, GetInput{FireID: here})
	k.check(err)
	return v
}

func (k *camp) ended() []Ended {
	k.t.Helper()
	out, err := k.Duels(k.t.Context(), loose, DuelsInput{FireID: here, Limit: 20})
	k.check(err)
	return out.Duels
}

// kept is the fire as the store has it.
func (k *camp) kept() Fire {
	k.t.Helper()
	f, err := fires.Get(k.t.Context(), k.DB.User("u"), here)
	k.check(err)
	return f
}

// recorded is how many ended duels the store has.
func (k *camp) recorded() int {
	k.t.Helper()
	page, err := duels.Under(here).Query(k.t.Context(), k.DB.User("u"), store.Query{Limit: 100})
	k.check(err)
	return len(page.Docs)
}

// says checks the kind of a fault and its words.
func says(t *testing.T, name string, err error, kind fault.Kind, words string) {
	t.Helper()
	if !fault.Is(err, kind) || err.Error() != words {
		t.Errorf("%s: %v %q, want %v %q", name, fault.Of(err), err, kind, words)
	}
}

// field is the path of the one problem of an Invalid fault.
func field(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Problems) != 1 {
		return fmt.Sprint("no field: ", err)
	}
	return f.Problems[0].Path
}

// again repeats a call for as long as others are in its way.
func again(ctx context.Context, call func() error) error {
	err := call()
	for fault.Is(err, fault.Conflict) && ctx.Err() == nil {
		err = call()
	}
	return err
}

// together runs a call n times at once and returns the errors of those that failed.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
