package sprint

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// yard is a service on an empty store, with a clock that the test sets.
type yard struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	t *testing.T
	// tokens are the tokens of the last claims, by claimant and story. Agents report with them.
	tokens  sync.Map
	notices notices
}

// notices are the messages of the system, by program.
type notices struct {
	mu   sync.Mutex
	sent map[string][]string
}

// Notify keeps a message, also of a transaction that is tried again.
func (n *notices) Notify(_ *store.Tx, _, program, text string, _ time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sent == nil {
		n.sent = map[string][]string{}
	}
	n.sent[program] = append(n.sent[program], text)
}

func schema() *store.Schema {
	return store.NewSchema(task.Tasks.Def(), task.Leases.Def(), idempotency.Def())
}

func over(t *testing.T, db *store.DB) *yard {
	y := &yard{t: t}
	y.Service = &Service{DB: db, Now: y.Clock.Now, NewID: y.IDs.NewID, Mail: &y.notices}
	return y
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *yard)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

// plan creates a sprint as alpha.
func (y *yard) plan(plan []Planned) string {
	y.t.Helper()
	in := CreateInput{ProjectName: "p", Branch: "b", Stories: plan}
	return domaintest.Must(y.Create(y.t.Context(), alpha, in))(y.t).SprintID
}

// tell reports a status with the token of the caller's last claim, and retries conflicts.
func (y *yard) tell(c identity.Caller, sprintID, storyID, status string) (UpdateOutput, error) {
	var out UpdateOutput
	in := UpdateInput{SprintID: sprintID, StoryID: storyID, Status: status}
	claim := c.Actor() + " " + docID(sprintID, storyID)
	if token, ok := y.tokens.Load(claim); ok {
		in.ClaimToken = token.(int64)
	}
	err := domaintest.Retry(y.t.Context(), func() (err error) {
		out, err = y.Update(y.t.Context(), c, in)
		return err
	})
	if err == nil && out.ClaimToken != 0 {
		y.tokens.Store(claim, out.ClaimToken)
	}
	return out, err
}

func (y *yard) do(c identity.Caller, sprintID, storyID string, statuses ...string) (out UpdateOutput) {
	y.t.Helper()
	var err error
	for _, s := range statuses {
		if out, err = y.tell(c, sprintID, storyID, s); err != nil {
			y.t.Fatalf("%s to %s: %v", storyID, s, err)
		}
	}
	return out
}

func (y *yard) get(sprintID string) View {
	y.t.Helper()
	return domaintest.Must(y.Get(y.t.Context(), alpha, GetInput{SprintID: sprintID}))(y.t)
}

// drawn returns a sprint as a line of text: its status, the ready stories, and the stories of each
// wave with their open (<) and failed (!) dependencies. The open wave has a star.
func (y *yard) drawn(sprintID string) string {
	y.t.Helper()
	v := y.get(sprintID)
	out := fmt.Sprintf("%s ready:%s", v.Status, strings.Join(v.Ready, ","))
	for _, w := range v.Waves {
		out += fmt.Sprintf(" | %d", w.Wave)
		if w.Open {
			out += "*"
		}
		for _, s := range w.Stories {
			out += " " + s.ID + "=" + s.Status
			if len(s.WaitingFor) > 0 {
				out += "<" + strings.Join(s.WaitingFor, ",")
			}
			if len(s.BlockedBy) > 0 {
				out += "!" + strings.Join(s.BlockedBy, ",")
			}
		}
	}
	return out
}

func (y *yard) draws(sprintID, want string) {
	y.t.Helper()
	if got := y.drawn(sprintID); got != want {
		y.t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// kept returns a stored task.
func (y *yard) kept(id string) task.Task {
	y.t.Helper()
	return domaintest.Must(task.Tasks.Get(y.t.Context(), y.DB.User("u"), id))(y.t)
}

func (y *yard) lease(id string) (l task.Lease, found bool) {
	y.t.Helper()
	f := task.Leases.Fetch(id, &l)
	domaintest.Check(y.t, store.Load(y.t.Context(), y.DB.User("u"), f))
	return l, f.Found
}

// change edits a stored task directly, as another package might.
func (y *yard) change(id string, edit func(*task.Task)) {
	y.t.Helper()
	domaintest.Check(y.t, y.DB.User("u").Update(y.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		v, err := task.Tasks.Get(ctx, tx, id)
		if err != nil {
			return err
		}
		edit(&v)
		task.Tasks.Put(tx, id, v)
		return nil
	}))
}

func (*notices) Inbox(_ context.Context, _ store.Reader, program, _ string) (string, error) {
	return program, nil
}
