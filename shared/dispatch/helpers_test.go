package dispatch

import (
	"context"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

var t0 = domaintest.Start

func schema() *store.Schema {
	return store.NewSchema(append(new(Service).Defs(), idempotency.Def())...)
}

// queue is a service on an empty store, with a clock that the test sets.
type queue struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	t *testing.T
}

func over(t *testing.T, db *store.DB) *queue {
	q := &queue{t: t}
	q.Service = &Service{DB: db, Now: q.Clock.Now, NewID: q.IDs.NewID}
	return q
}

// each runs a test on both stores, each with a service of its own.
func each(t *testing.T, test func(*testing.T, *queue)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

var (
	alpha, beta, gamma = domaintest.Bound("u", "alpha"), domaintest.Bound("u", "beta"), domaintest.Bound("u", "gamma")
	loose, person      = domaintest.Unbound("u"), domaintest.Human("u")
	// drift is another key that is bound to no program.
	drift = identity.Caller{User: "u", KeyID: "ffffffffffffffff", Kind: identity.Agent}
)

// create creates a task for the target and returns its id.
func (q *queue) create(c identity.Caller, in CreateInput) string {
	q.t.Helper()
	if in.Title == "" {
		in.Title = "do it"
	}
	return domaintest.Must(q.Create(q.t.Context(), c, in))(q.t).TaskID
}

func (q *queue) claim(c identity.Caller, id string) ClaimOutput {
	q.t.Helper()
	return domaintest.Must(q.Claim(q.t.Context(), c, ClaimInput{TaskID: id}))(q.t)
}

// claimed returns a task for beta that beta holds.
func (q *queue) claimed() (id string, token int64) {
	q.t.Helper()
	id = q.create(alpha, CreateInput{Target: "beta"})
	return id, q.claim(beta, id).ClaimToken
}

func (q *queue) get(id string) View {
	q.t.Helper()
	return domaintest.Must(q.Get(q.t.Context(), alpha, TaskInput{TaskID: id}))(q.t)
}

// list returns the titles of a listing.
func (q *queue) list(c identity.Caller, in ListInput) string {
	q.t.Helper()
	return titles(domaintest.Must(q.List(q.t.Context(), c, in))(q.t))
}

func titles(out ListOutput) string {
	var names []string
	for _, v := range out.Tasks {
		names = append(names, v.Title)
	}
	return strings.Join(names, " ")
}

// put stores a task directly, as another domain might.
func (q *queue) put(id string, v task.Task) {
	q.t.Helper()
	v.Route()
	domaintest.Check(q.t, q.DB.User("u").Update(q.t.Context(), func(_ context.Context, tx *store.Tx) error {
		task.Tasks.Put(tx, id, v)
		return nil
	}))
}
