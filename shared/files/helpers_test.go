package files

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// The callers of one user.
var (
	alpha = domaintest.Bound("u", "alpha")
	beta  = domaintest.Bound("u", "beta")
	gamma = domaintest.Bound("u", "gamma")
	loose = domaintest.Unbound("u")
	ann   = domaintest.Human("u")
)

// life is a session of a test.
type life struct {
	Ended bool      `json:"ended"`
	Heard time.Time `json:"heard"`
}

var lives = store.Collection[life]{Name: "lives"}

// sessions are the sessions of a test, as the domain sees them.
type sessions struct{ db *store.DB }

func (sessions) Life(_, id string) ([]*store.Fetch, func() (bool, time.Time)) {
	var l life
	return []*store.Fetch{lives.Fetch(id, &l)}, func() (bool, time.Time) { return l.Ended, l.Heard }
}

func (s sessions) Wait(ctx context.Context, user string, d time.Duration, check func(context.Context) (bool, error)) error {
	return lives.Wait(ctx, s.db.User(user), nil, d, check)
}

// notices are the messages of the system by id, so that one of a transaction that is tried again counts once.
type notices struct {
	mu   sync.Mutex
	sent map[string]string
}

func (n *notices) Inbox(_ context.Context, _ store.Reader, program, session string) (string, error) {
	return identity.Address(program, session), nil
}

func (n *notices) Notify(_ *store.Tx, id, program, text string, _ time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sent == nil {
		n.sent = map[string]string{}
	}
	n.sent[id] = program + ": " + text
}

func (n *notices) all() (out []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, text := range n.sent {
		out = append(out, text)
	}
	return out
}

// desk is a service on an empty store, with a clock that the test sets.
type desk struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	notices notices
	t       *testing.T
}

func schema() *store.Schema {
	defs := append((*Service)(nil).Defs(), task.Tasks.Def(), idempotency.Def(), lives.Def())
	return store.NewSchema(defs...)
}

func over(t *testing.T, db *store.DB) *desk {
	d := &desk{t: t}
	d.Service = &Service{DB: db, Now: d.Clock.Now, NewID: d.IDs.NewID, Mail: &d.notices, Sessions: sessions{db}}
	return d
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *desk)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

// The calls of a test have their defaults applied, as the catalogue does for operations.

func (d *desk) Reserve(ctx context.Context, c identity.Caller, in ReserveInput) (ReserveOutput, error) {
	if in.Project == "" {
		in.Project = app
	}
	var out ReserveOutput
	err := domaintest.Retry(ctx, func() (err error) {
		out, err = d.Service.Reserve(ctx, c, op.FillAs(c, "reserve_files", in))
		return err
	})
	return out, err
}

// take reserves exclusive paths. A caller is given as "beta", or with a session as "beta.1".
func (d *desk) take(who string, paths ...string) (ReserveOutput, error) {
	return d.Reserve(d.t.Context(), callerOf(who), ReserveInput{Paths: paths, SessionID: session(who)})
}

func callerOf(who string) identity.Caller {
	program, _, _ := strings.Cut(who, ".")
	return domaintest.Bound("u", program)
}

func session(who string) string {
	if strings.Contains(who, ".") {
		return who
	}
	return ""
}

func (d *desk) takes(who string, paths ...string) []View {
	d.t.Helper()
	return domaintest.Must(d.take(who, paths...))(d.t).Reservations
}

func (d *desk) refuses(who string, paths ...string) error {
	d.t.Helper()
	_, err := d.take(who, paths...)
	domaintest.Refused(d.t, fmt.Sprintf("%s takes %q", who, paths), err, fault.Precondition, "nothing is reserved")
	return err
}

// board returns the stored board.
func (d *desk) board() Board {
	d.t.Helper()
	b := domaintest.Must(boards.Get(d.t.Context(), d.DB.User("u"), boardID(app)))(d.t)
	domaintest.Check(d.t, b.unpack())
	return b
}

// held returns the reservations as "alpha src/ | beta x".
func (d *desk) held() string {
	d.t.Helper()
	out := domaintest.Must(d.List(d.t.Context(), ann, ListInput{Project: app}))(d.t)
	var texts []string
	for _, v := range out.Reservations {
		who := v.Holder
		if v.SessionID != "" {
			who = v.SessionID
		}
		texts = append(texts, who+" "+v.Pattern)
	}
	return strings.Join(texts, " | ")
}

func (d *desk) holds(want string) {
	d.t.Helper()
	if got := d.held(); got != want {
		d.t.Errorf("held are %q, want %q", got, want)
	}
}

func (d *desk) put(write func(tx *store.Tx)) {
	d.t.Helper()
	domaintest.Check(d.t, d.DB.User("u").Update(d.t.Context(), func(_ context.Context, tx *store.Tx) error {
		write(tx)
		return nil
	}))
}

func (d *desk) setTask(id string, status task.Status) {
	d.t.Helper()
	d.put(func(tx *store.Tx) { task.Tasks.Put(tx, id, task.Task{Title: "t", Status: status}) })
}

func (d *desk) setLife(id string, l life) {
	d.t.Helper()
	d.put(func(tx *store.Tx) { lives.Put(tx, id, l) })
}
