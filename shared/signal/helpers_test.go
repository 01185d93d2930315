package signal

import (
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

// desk is a service on an empty store, with a clock that the test moves.
type desk struct {
	*Service
	t    *testing.T
	bell *bell

	mu    sync.Mutex
	now   time.Time
	made  int
	looks chan struct{}
}

func each(t *testing.T, test func(*testing.T, *desk)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, store.NewSchema(append(Defs(), task.Tasks.Def(), once.Def())...), func(t *testing.T, db *store.DB) {
		d := &desk{t: t, now: t0, looks: make(chan struct{}, 100)}
		d.bell = &bell{}
		d.Service = &Service{DB: db, Now: d.clock, NewID: d.id, Sender: d.bell, PublicURL: "https://parley.example"}
		test(t, d)
	})
}

func (d *desk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case d.looks <- struct{}{}:
	default:
	}
	return d.now
}

func (d *desk) id() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made++
	return fmt.Sprintf("q%03d", d.made)
}

func (d *desk) pass(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

var (
	alpha  = identity.Caller{User: "u", Program: "alpha", KeyID: "ka", Kind: identity.Agent}
	person = identity.Caller{User: "u", KeyID: "0123456789abcdef", Kind: identity.Human}
)

func (d *desk) ask(in AskInput) string {
	d.t.Helper()
	if in.Question == "" {
		in.Question = "which?"
	}
	out, err := d.Ask(d.t.Context(), alpha, in)
	if err != nil {
		d.t.Fatal(err)
	}
	return out.QuestionID
}

func (d *desk) response(id string) Answer {
	d.t.Helper()
	out, err := d.Response(d.t.Context(), alpha, ResponseInput{QuestionID: id})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func (d *desk) list(in ListInput) string {
	d.t.Helper()
	out, err := d.List(d.t.Context(), person, in)
	if err != nil {
		d.t.Fatal(err)
	}
	var names []string
	for _, v := range out.Questions {
		names = append(names, v.Question)
	}
	return strings.Join(names, " ")
}

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
