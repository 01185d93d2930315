package council

import (
	"context"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

func schema() *store.Schema {
	return store.NewSchema(append(new(Service).Defs(), idempotency.Def())...)
}

// fixture is a service on an empty store, with a clock that the test moves.
type fixture struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	t *testing.T
	// driver is the driver of the store in a test of eachWatched, and nil in others.
	driver store.Driver
}

func over(t *testing.T, db *store.DB) *fixture {
	h := &fixture{t: t}
	h.Service = &Service{DB: db, Now: h.Clock.Now, NewID: h.IDs.NewID}
	return h
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	domaintest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

// watched is a driver that reports every read of a session outside a transaction.
type watched struct {
	store.Driver
	looks chan struct{}
}

func (d *watched) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	raws, err := d.Driver.Get(ctx, refs)
	for _, r := range refs {
		if r.Coll == councils.Name {
			d.looks <- struct{}{}
		}
	}
	return raws, err
}

func (d *watched) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	raws, err := d.Driver.Query(ctx, p)
	if p.Coll == councils.Name {
		d.looks <- struct{}{}
	}
	return raws, err
}

// eachWatched runs a test on both stores and reports the reads of sessions to it.
func eachWatched(t *testing.T, test func(t *testing.T, h *fixture, looks <-chan struct{})) {
	t.Helper()
	watch := func(inner store.Driver) *watched { return &watched{inner, make(chan struct{}, 1000)} }
	domaintest.EachOver(t, schema(), watch, func(t *testing.T, db *store.DB, d *watched) {
		h := over(t, db)
		h.driver = d.Driver
		test(t, h, d.looks)
	})
}

// waiting starts a call that waits, and returns when it listens for changes. The channel gets the output of the call.
// looks are those of [eachWatched].
func (h *fixture) waiting(in GetInput, looks <-chan struct{}) <-chan ViewOutput {
	h.t.Helper()
	for len(looks) > 0 {
		<-looks
	}
	in.WaitMs = 50_000
	got := make(chan ViewOutput, 1)
	go func() {
		out, err := h.Get(h.t.Context(), unbound, in)
		if err != nil {
			h.t.Error(err)
		}
		got <- out
	}()
	reads := 2 // the first look of the wait, and the look after its listener is set up
	if in.Cursor != "" {
		reads++ // a council is read before the wait
	}
	for range reads {
		<-looks
	}
	return got
}

var (
	unbound  = domaintest.Unbound("u")
	reader   = domaintest.Reader("u")
	stranger = domaintest.Unbound("v")
)

func (h *fixture) start(agent string) string {
	h.t.Helper()
	return domaintest.Must(
		h.Start(h.t.Context(), unbound, StartInput{Request: "what of " + agent + "?", AgentName: agent}))(h.t).SessionID
}

func (h *fixture) join(agent, id string) ViewOutput {
	h.t.Helper()
	return domaintest.Must(h.Join(h.t.Context(), unbound, JoinInput{AgentName: agent, SessionID: id}))(h.t)
}

func (h *fixture) get(agent, id, cursor string) ViewOutput {
	h.t.Helper()
	in := GetInput{AgentName: agent, SessionID: id, Cursor: cursor}
	out := domaintest.Must(h.Get(h.t.Context(), unbound, in))(h.t)
	if out.Feedback == nil || out.NextCursor == "" {
		h.t.Errorf("the feedback is %v, the cursor %q", out.Feedback, out.NextCursor)
	}
	return out
}

func (h *fixture) send(agent, id, content string) SendOutput {
	h.t.Helper()
	return domaintest.Must(
		h.Send(h.t.Context(), unbound, SendInput{AgentName: agent, SessionID: id, Content: content}))(h.t)
}

func (h *fixture) conclude(agent, id string) CloseOutput {
	h.t.Helper()
	return domaintest.Must(
		h.Close(h.t.Context(), unbound, CloseInput{AgentName: agent, SessionID: id, Conclusion: "so be it"}))(h.t)
}

func (h *fixture) rank(agent, id string, ranking ...string) RankOutput {
	h.t.Helper()
	return domaintest.Must(
		h.Rank(h.t.Context(), unbound, RankInput{AgentName: agent, SessionID: id, Ranking: ranking}))(h.t)
}

func (h *fixture) list(in ListInput) ListOutput {
	h.t.Helper()
	return domaintest.Must(h.List(h.t.Context(), unbound, in))(h.t)
}

func (h *fixture) sweep(limit int) int {
	h.t.Helper()
	return domaintest.Must(h.SweepCouncils(h.t.Context(), store.NewAdmin(h.DB), limit))(h.t)
}

// contents joins the texts of responses in their order.
func contents(list []Feedback) string {
	var out []string
	for _, f := range list {
		out = append(out, f.Content)
	}
	return strings.Join(out, " ")
}

// calls returns a call of each operation on one council. Each call returns only the error.
func (h *fixture) calls(c identity.Caller, agent, id string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"join": func(ctx context.Context) error {
			_, err := h.Join(ctx, c, JoinInput{AgentName: agent, SessionID: id})
			return err
		},
		"get": func(ctx context.Context) error {
			_, err := h.Get(ctx, c, GetInput{AgentName: agent, SessionID: id})
			return err
		},
		"send": func(ctx context.Context) error {
			_, err := h.Send(ctx, c, SendInput{AgentName: agent, SessionID: id, Content: "x"})
			return err
		},
		"rank": func(ctx context.Context) error {
			_, err := h.Rank(ctx, c, RankInput{AgentName: agent, SessionID: id, Ranking: []string{"A"}})
			return err
		},
		"close": func(ctx context.Context) error {
			_, err := h.Close(ctx, c, CloseInput{AgentName: agent, SessionID: id, Conclusion: "x"})
			return err
		},
	}
}
