package pulse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func schema() *store.Schema {
	return store.NewSchema(append(new(Service).Defs(), task.Tasks.Def(), task.Leases.Def(), idempotency.Def())...)
}

// world is a service on an empty store, with a clock that the test sets.
type world struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	t     *testing.T
	queue *queue
	mail  *mail
}

func newWorld(t *testing.T, db *store.DB) *world {
	w := &world{t: t, queue: &queue{db: db}, mail: &mail{got: map[string]string{}}}
	w.Service = &Service{DB: db, Now: w.Clock.Now, NewID: w.IDs.NewID, Claims: w.queue, Mail: w.mail}
	return w
}

// Now returns the time of the test's clock, which the service reads too.
func (w *world) Now() time.Time { return w.Clock.Now() }

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, newWorld(t, db)) })
}

// queue releases claims as package dispatch does: each in its own transaction, and only if it is
// still held.
type queue struct {
	db *store.DB
	// fails is called before each release and at the end; its fault is returned.
	fails func() error
}

func (q *queue) fail() error {
	if q.fails == nil {
		return nil
	}
	return q.fails()
}

func (q *queue) ReleaseSession(ctx context.Context, user, sessionID string, owns func(string) bool,
	_ time.Time, reason string) ([]Released, error) {
	u := q.db.User(user)
	page, err := task.Leases.Query(ctx, u, store.Query{Where: []store.Cond{store.Eq("sessionId", sessionID)},
		Limit: 500})
	if err != nil {
		return nil, err
	}
	var out []Released
	for _, d := range page.Docs {
		if err := q.fail(); err != nil {
			return nil, err
		}
		if !owns(d.Value.ClaimedBy) {
			continue
		}
		var v task.Task
		err := u.Update(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			if v, err = task.Tasks.Get(ctx, tx, d.ID); err != nil {
				return err
			}
			v.Status, v.SessionID, v.ClaimedBy, v.Reason = task.Created, "", "", reason
			task.Tasks.Put(tx, d.ID, v)
			task.Leases.Delete(tx, d.ID)
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, Released{TaskID: d.ID, Title: v.Title, Source: v.Source})
	}
	return out, q.fail()
}

// mail stores messages by id, so that a repeated one is stored once.
type mail struct {
	mu  sync.Mutex
	got map[string]string // by user, program and id
	// forwarded has the users and addresses whose mail was forwarded.
	forwarded []string
	// fails is called before and after a message is stored; its fault is returned.
	fails func() error
}

func (m *mail) Tell(_ context.Context, user, id, program, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		if err := m.fails(); err != nil {
			return err
		}
	}
	m.got[user+" "+program+" "+id] = text
	if m.fails != nil {
		return m.fails()
	}
	return nil
}

func (m *mail) Forward(_ context.Context, user, address string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		if err := m.fails(); err != nil {
			return err
		}
	}
	if entry := user + " " + address; !slices.Contains(m.forwarded, entry) {
		m.forwarded = append(m.forwarded, entry)
	}
	return nil
}

// told returns the sorted recipients of the messages, one word for each message.
func (m *mail) told() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for k := range maps.Keys(m.got) {
		out = append(out, strings.Fields(k)[1])
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

var (
	alpha, beta = domaintest.Bound("u", "alpha"), domaintest.Bound("u", "beta")
	loose       = domaintest.Unbound("u")
	drift       = identity.Caller{User: "u", KeyID: "aaaabbbbccccdddd", Kind: identity.Agent} // unbound too
	person      = domaintest.Human("u")
	stranger    = domaintest.Bound("v", "alpha")
)

func (w *world) create(c identity.Caller, in CreateInput) CreateOutput {
	w.t.Helper()
	if in.Name == "" {
		in.Name = "a session"
	}
	return domaintest.Must(w.Create(w.t.Context(), c, in))(w.t)
}

func (w *world) update(c identity.Caller, in UpdateInput) View {
	w.t.Helper()
	return domaintest.Must(w.Update(w.t.Context(), c, in))(w.t)
}

func (w *world) list(c identity.Caller, in ListInput) ListOutput {
	w.t.Helper()
	out := domaintest.Must(w.List(w.t.Context(), c, in))(w.t)
	if out.Sessions == nil {
		w.t.Error("no sessions are null, not an empty list")
	}
	return out
}

// ids returns the ids of a listing in its order.
func ids(out ListOutput) string {
	var names []string
	for _, v := range out.Sessions {
		names = append(names, v.SessionID)
	}
	return strings.Join(names, " ")
}

// get returns a session from a listing.
func (w *world) get(id string) View {
	w.t.Helper()
	for _, v := range w.list(loose, ListInput{Limit: 50, IncludeArchived: true}).Sessions {
		if v.SessionID == id {
			return v
		}
	}
	w.t.Fatalf("no session %q", id)
	return View{}
}

func fetch[T any](w *world, coll store.Collection[T], id string) (v T, found bool) {
	w.t.Helper()
	v, err := coll.Get(w.t.Context(), w.DB.User("u"), id)
	if err != nil && !fault.Is(err, fault.NotFound) {
		w.t.Fatal(err)
	}
	return v, err == nil
}

func (w *world) write(fn func(tx *store.Tx)) {
	w.t.Helper()
	domaintest.Check(w.t, w.DB.User("u").Update(w.t.Context(), func(_ context.Context, tx *store.Tx) error {
		fn(tx)
		return nil
	}))
}

// holds gives the session a claim of a task of that source.
func (w *world) holds(session, taskID, source string) {
	w.t.Helper()
	v := task.Task{Type: task.Work, Title: "title of " + taskID, Status: task.Active, Source: source, Target: "any",
		SessionID: session, ClaimedBy: "alpha", ClaimToken: 1, CreatedAt: w.Now()}
	v.Route()
	w.write(func(tx *store.Tx) {
		task.Tasks.Put(tx, taskID, v)
		task.Leases.Put(tx, taskID, task.Lease{ClaimToken: 1, ClaimedBy: "alpha", SessionID: session,
			LeaseUntil: w.Now().Add(24 * time.Hour)})
	})
}

// free reports whether a task is back in the queue.
func (w *world) free(taskID string) bool {
	w.t.Helper()
	v, _ := fetch(w, task.Tasks, taskID)
	_, leased := fetch(w, task.Leases, taskID)
	return v.Status == task.Created && !leased
}

func (w *world) sweep(limit int) int {
	w.t.Helper()
	return domaintest.Must(w.SweepSessions(w.t.Context(), store.NewAdmin(w.DB), limit))(w.t)
}

// records returns the archive records of a session by life.
func (w *world) records(id string) (out []Record) {
	w.t.Helper()
	for life := 1; ; life++ {
		r, found := fetch(w, archive, fmt.Sprintf("%s.%d", id, life))
		if !found {
			return out
		}
		out = append(out, r)
	}
}
