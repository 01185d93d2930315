package team

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
)

var (
	alpha = domaintest.Bound("u", "alpha")
	beta  = domaintest.Bound("u", "beta")
	loose = domaintest.Unbound("u")
	human = domaintest.Human("u")
	// runs is a key that runs the processes of the team core.
	runs = identity.Caller{User: "u", KeyID: "key-of-runner", Kind: identity.Agent,
		Scopes: []string{identity.ScopeRunner}, Team: "core"}
)

// world is a service with its clock and ids, and shorthands for its calls.
type world struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	t *testing.T
}

func each(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	domaintest.Each(t, store.NewSchema(slices.Concat(new(Service).Defs(), new(keys.Service).Defs(),
		[]*store.Def{idempotency.Def()})...), func(t *testing.T, db *store.DB) {
		w := &world{t: t}
		w.Service = &Service{DB: db, Now: w.Clock.Now, NewID: w.IDs.NewID}
		test(t, w)
	})
}

// says checks the kind and the complete message of a refusal. The message names the case.
func says(t *testing.T, err error, kind fault.Kind, words string) {
	t.Helper()
	domaintest.Says(t, words, err, kind, words)
}

// team creates a team that alpha leads, with teammates of the backend external.
func (w *world) team(name string, mates ...string) {
	w.t.Helper()
	domaintest.Must(w.Create(w.t.Context(), alpha, CreateInput{TeamName: name, Description: "what for"}))(w.t)
	for _, m := range mates {
		w.spawn(name, m, External)
	}
}

func (w *world) spawn(team, name, backend string) SpawnOutput {
	w.t.Helper()
	return domaintest.Must(w.Spawn(w.t.Context(), alpha, SpawnInput{TeamName: team, Name: name,
		Prompt: "do it, " + name, BackendType: backend}))(w.t)
}

func (w *world) config(team string) Config {
	w.t.Helper()
	return domaintest.Must(w.ReadConfig(w.t.Context(), alpha, NameInput{team}))(w.t).Config
}

func (w *world) active(team, name string) bool {
	w.t.Helper()
	cfg := w.config(team)
	m := cfg.Member(name)
	if m == nil {
		w.t.Fatalf("%s is no member of %s", name, team)
	}
	return deref(m.IsActive)
}

// inbox returns all messages of a member and marks none.
func (w *world) inbox(team, name string) []Message {
	w.t.Helper()
	no := false
	return domaintest.Must(w.ReadInbox(w.t.Context(), human,
		ReadInput{TeamName: team, AgentName: name, MarkAsRead: &no, Limit: maxPage}))(w.t).Messages
}

// last returns the last message of a member.
func (w *world) last(team, name string) Message {
	w.t.Helper()
	all := w.inbox(team, name)
	if len(all) == 0 {
		w.t.Fatalf("the inbox of %s is empty", name)
	}
	return all[len(all)-1]
}

// tasks creates n tasks and returns their ids.
func (w *world) tasks(team string, n int) (ids []string) {
	w.t.Helper()
	for i := range n {
		out, err := w.CreateTask(w.t.Context(), alpha, CreateTaskInput{TeamName: team,
			Subject: fmt.Sprintf("task %d", i+1), Description: "the whole of it"})
		ids = append(ids, domaintest.Must(out, err)(w.t).ID)
	}
	return ids
}

func (w *world) update(in UpdateTaskInput) (UpdateTaskOutput, error) {
	in.TeamName = "core"
	return w.UpdateTask(w.t.Context(), alpha, in)
}

func (w *world) updated(in UpdateTaskInput) Task {
	w.t.Helper()
	return domaintest.Must(w.update(in))(w.t).Task
}

func (w *world) task(id string) Task {
	w.t.Helper()
	return domaintest.Must(w.GetTask(w.t.Context(), alpha, TaskInput{"core", id}))(w.t)
}

// list returns the ids of a list in its order.
func (w *world) list(in ListTasksInput) []string {
	w.t.Helper()
	in.TeamName = "core"
	out, err := w.ListTasks(w.t.Context(), alpha, in)
	ids := []string{}
	for _, t := range domaintest.Must(out, err)(w.t).Tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

func (w *world) sweep(run func() (int, error), want int) {
	w.t.Helper()
	if n, err := run(); n != want || err != nil {
		w.t.Errorf("%d handled, want %d, %v", n, want, err)
	}
}

func (w *world) sweepMembers(want int) {
	w.t.Helper()
	w.sweep(func() (int, error) { return w.SweepMembers(w.t.Context(), store.NewAdmin(w.DB), 100) }, want)
}

func same[T comparable](t *testing.T, name string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	return string(domaintest.Must(b, err)(t))
}

func (w *world) admin() *store.Admin { return store.NewAdmin(w.DB) }

// holds checks the numbers of documents in the user's collections.
func (w *world) holds(want map[string]int) {
	w.t.Helper()
	u, count := w.DB.User("u"), map[string]int{}
	q := store.Query{Limit: store.MaxLimit}
	for name, query := range map[string]func() (int, error){
		"teams":         func() (int, error) { p, err := teams.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamBoards":    func() (int, error) { p, err := boards.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamSeats":     func() (int, error) { p, err := leaderships.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamGraves":    func() (int, error) { p, err := deletions.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamInboxes":   func() (int, error) { p, err := inboxes.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamBeats":     func() (int, error) { p, err := beats.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamProcesses": func() (int, error) { p, err := processes.Query(w.t.Context(), u, q); return len(p.Docs), err },
	} {
		n, err := query()
		if count[name] = n; err != nil {
			w.t.Fatal(err)
		}
	}
	for name, n := range want {
		if count[name] != n {
			w.t.Errorf("%d documents in %s, want %d", count[name], name, n)
		}
	}
}

// Now returns the time of the test's clock, which the service reads too.
func (w *world) Now() time.Time { return w.Clock.Now() }
