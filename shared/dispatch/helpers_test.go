package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/once"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
	"parley.internal/shared/task"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// queue is a service on an empty store, with a clock that the test moves.
type queue struct {
	*Service
	t *testing.T

	mu    sync.Mutex
	now   time.Time
	made  int
	looks chan struct{}
}

// each runs a test on both stores, where it is the only user of the service.
func each(t *testing.T, test func(*testing.T, *queue)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, store.NewSchema(append(Defs(), once.Def())...), func(t *testing.T, db *store.DB) {
		q := &queue{t: t, now: t0, looks: make(chan struct{}, 100)}
		q.Service = &Service{DB: db, Now: q.clock, NewID: q.id}
		test(t, q)
	})
}

func (q *queue) clock() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.looks <- struct{}{}:
	default:
	}
	return q.now
}

// id counts, so that documents made at one time stand in the order of their making.
func (q *queue) id() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.made++
	return fmt.Sprintf("task-%03d", q.made)
}

func (q *queue) pass(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.now = q.now.Add(d)
}

func bound(program string) identity.Caller {
	return identity.Caller{User: "u", Program: program, KeyID: "key-of-" + program, Kind: identity.Agent}
}

var (
	alpha, beta, gamma = bound("alpha"), bound("beta"), bound("gamma")
	loose              = identity.Caller{User: "u", KeyID: "0123456789abcdef", Kind: identity.Agent}
)

// create makes a task for the target and returns its id.
func (q *queue) create(c identity.Caller, in CreateInput) string {
	q.t.Helper()
	if in.Title == "" {
		in.Title = "do it"
	}
	out, err := q.Create(q.t.Context(), c, in)
	if err != nil {
		q.t.Fatal(err)
	}
	return out.TaskID
}

func (q *queue) claim(c identity.Caller, id string) ClaimOutput {
	q.t.Helper()
	out, err := q.Claim(q.t.Context(), c, ClaimInput{TaskID: id})
	if err != nil {
		q.t.Fatal(err)
	}
	return out
}

// claimed is a task for beta that beta holds.
func (q *queue) claimed() (id string, token int64) {
	q.t.Helper()
	id = q.create(alpha, CreateInput{Target: "beta"})
	return id, q.claim(beta, id).ClaimToken
}

func (q *queue) get(id string) View {
	q.t.Helper()
	v, err := q.Get(q.t.Context(), alpha, TaskInput{TaskID: id})
	if err != nil {
		q.t.Fatal(err)
	}
	return v
}

// list is the titles that a listing shows.
func (q *queue) list(c identity.Caller, in ListInput) string {
	q.t.Helper()
	out, err := q.List(q.t.Context(), c, in)
	if err != nil {
		q.t.Fatal(err)
	}
	return titles(out)
}

func titles(out ListOutput) string {
	var names []string
	for _, v := range out.Tasks {
		names = append(names, v.Title)
	}
	return strings.Join(names, " ")
}

// refused checks the kind of a fault and what its message says.
func refused(t *testing.T, name string, err error, kind fault.Kind, says ...string) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want %v", name, err, kind)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %q does not say %q", name, err, s)
		}
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

// put sets a task as another domain would leave it.
func (q *queue) put(id string, v task.Task) {
	q.t.Helper()
	v.Route()
	err := q.DB.User("u").Update(q.t.Context(), func(_ context.Context, tx *store.Tx) error {
		task.Tasks.Put(tx, id, v)
		return nil
	})
	if err != nil {
		q.t.Fatal(err)
	}
}
