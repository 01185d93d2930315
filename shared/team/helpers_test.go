package team

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/once"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

var (
	alpha = identity.Caller{User: "u", Program: "alpha", KeyID: "ka"}
	beta  = identity.Caller{User: "u", Program: "beta", KeyID: "kb"}
	loose = identity.Caller{User: "u", KeyID: "k1"}
)

// mate is the key of a teammate.
func mate(name string) identity.Caller {
	return identity.Caller{User: "u", Program: name, KeyID: "k-" + name}
}

// world is a service with its clock, and what a test asks of it.
type world struct {
	*Service
	*storetest.Clock
	t *testing.T
}

func each(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, store.NewSchema(append(Defs(), once.Def())...), func(t *testing.T, db *store.DB) {
		clock := &storetest.Clock{}
		test(t, &world{&Service{DB: db, Now: clock.Now, NewID: clock.NewID}, clock, t})
	})
}

// says checks the kind of a fault and its words.
func says(t *testing.T, err error, kind fault.Kind, words string) {
	t.Helper()
	if !fault.Is(err, kind) || err.Error() != words {
		t.Errorf("%v %q, want %v %q", fault.Of(err), err, kind, words)
	}
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// team founds a team that alpha leads, with teammates that nobody starts.
func (w *world) team(name string, mates ...string) {
	w.t.Helper()
	_, err := w.Create(w.t.Context(), alpha, CreateInput{TeamName: name, Description: "what for"})
	must(w.t, 0, err)
	for _, m := range mates {
		w.spawn(name, m, External)
	}
}

func (w *world) spawn(team, name, backend string) SpawnOutput {
	w.t.Helper()
	out, err := w.Spawn(w.t.Context(), alpha, SpawnInput{TeamName: team, Name: name, Prompt: "do it, " + name, BackendType: backend})
	return must(w.t, out, err)
}

func (w *world) config(team string) Config {
	w.t.Helper()
	out, err := w.ReadConfig(w.t.Context(), alpha, NameInput{team})
	return must(w.t, out, err)
}

func (w *world) active(team, name string) bool {
	w.t.Helper()
	cfg := w.config(team)
	m := cfg.Member(name)
	if m == nil {
		w.t.Fatalf("%s is no member of %s", name, team)
	}
	return value(m.IsActive)
}

// inbox is all that a member got, and marks nothing.
func (w *world) inbox(team, name string) []Message {
	w.t.Helper()
	no := false
	out, err := w.ReadInbox(w.t.Context(), loose, ReadInput{TeamName: team, AgentName: name, MarkAsRead: &no, Limit: maxPage})
	return must(w.t, out, err).Messages
}

// last is the text of the last message that a member got.
func (w *world) last(team, name string) Message {
	w.t.Helper()
	all := w.inbox(team, name)
	if len(all) == 0 {
		w.t.Fatalf("the inbox of %s is empty", name)
	}
	return all[len(all)-1]
}

// task makes tasks and returns their ids.
func (w *world) tasks(team string, n int) (ids []string) {
	w.t.Helper()
	for i := range n {
		out, err := w.CreateTask(w.t.Context(), alpha, CreateTaskInput{TeamName: team, Subject: fmt.Sprintf("task %d", i+1), Description: "the whole of it"})
		ids = append(ids, must(w.t, out, err).ID)
	}
	return ids
}

func (w *world) update(in UpdateTaskInput) (UpdateTaskOutput, error) {
	in.TeamName = "core"
	return w.UpdateTask(w.t.Context(), alpha, in)
}

func (w *world) updated(in UpdateTaskInput) Task {
	w.t.Helper()
	out, err := w.update(in)
	return must(w.t, out, err).Task
}

func (w *world) task(id string) Task {
	w.t.Helper()
	out, err := w.GetTask(w.t.Context(), alpha, TaskInput{"core", id})
	return must(w.t, out, err)
}

// list is the ids of a list, in its order.
func (w *world) list(in ListTasksInput) []string {
	w.t.Helper()
	in.TeamName = "core"
	out, err := w.ListTasks(w.t.Context(), alpha, in)
	ids := []string{}
	for _, t := range must(w.t, out, err).Tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

func (w *world) sweep(run func() (int, error), want int) {
	w.t.Helper()
	if n, err := run(); n != want || err != nil {
		w.t.Errorf("%d settled, want %d, %v", n, want, err)
	}
}

func (w *world) sweepMembers(want int) {
	w.t.Helper()
	w.sweep(func() (int, error) { return w.SweepMembers(w.t.Context(), store.NewAdmin(w.DB), 100) }, want)
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	return string(must(t, b, err))
}

func (w *world) admin() *store.Admin { return store.NewAdmin(w.DB) }

// holds checks how many documents the collections of the user have.
func (w *world) holds(want map[string]int) {
	w.t.Helper()
	u, count := w.DB.User("u"), map[string]int{}
	q := store.Query{Limit: store.MaxLimit}
	for name, query := range map[string]func() (int, error){
		"teams":         func() (int, error) { p, err := teams.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamBoards":    func() (int, error) { p, err := boards.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamSeats":     func() (int, error) { p, err := seats.Query(w.t.Context(), u, q); return len(p.Docs), err },
		"teamGraves":    func() (int, error) { p, err := graves.Query(w.t.Context(), u, q); return len(p.Docs), err },
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

// Now is the test's clock, which the service reads too.
func (w *world) Now() time.Time { return w.Clock.Now() }
