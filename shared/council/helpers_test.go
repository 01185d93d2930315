package council

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/once"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/store/storetest"
)

func schema() *store.Schema { return store.NewSchema(append(Defs(), once.Def())...) }

// hall is a service on an empty store, with a clock that the test moves.
type hall struct {
	*Service
	storetest.Clock
	t *testing.T
	// driver is what the store stands on, where the test is one of eachWatched.
	driver store.Driver
}

func over(t *testing.T, db *store.DB) *hall {
	h := &hall{t: t}
	h.Service = &Service{DB: db, Now: h.Clock.Now, NewID: h.Clock.NewID}
	return h
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *hall)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, schema(), func(t *testing.T, db *store.DB) { test(t, over(t, db)) })
}

// watched is a driver that tells of every look at a session beside a transaction.
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

// eachWatched runs a test on both stores, and tells it of looks.
func eachWatched(t *testing.T, test func(t *testing.T, h *hall, looks <-chan struct{})) {
	t.Helper()
	t.Parallel()
	run := func(name string, open func(t *testing.T) (store.Driver, error)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			d := &watched{inner, make(chan struct{}, 1000)}
			db := store.New(d, schema())
			t.Cleanup(func() { _ = db.Close() })
			h := over(t, db)
			h.driver = inner
			test(t, h, d.looks)
		})
	}
	run("sqlite", func(t *testing.T) (store.Driver, error) {
		return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), schema())
	})
	run("firestore", func(t *testing.T) (store.Driver, error) {
		return firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t)})
	})
}

func bound(program string) identity.Caller {
	return identity.Caller{User: "u", Program: program, KeyID: "key-of-" + program, Kind: identity.Agent}
}

var (
	loose    = identity.Caller{User: "u", KeyID: "0123456789abcdef", Kind: identity.Agent}
	reader   = identity.Caller{User: "u", KeyID: "fedcba9876543210", Kind: identity.Agent, ReadOnly: true}
	stranger = identity.Caller{User: "v", KeyID: "key-of-v", Kind: identity.Agent}
)

// must is the result of a call that is to succeed.
func must[T any](h *hall) func(v T, err error) T {
	return func(v T, err error) T {
		h.t.Helper()
		if err != nil {
			h.t.Fatal(err)
		}
		return v
	}
}

func (h *hall) start(agent string) string {
	h.t.Helper()
	return must[StartOutput](h)(h.Start(h.t.Context(), loose, StartInput{Request: "what of " + agent + "?", AgentName: agent})).SessionID
}

func (h *hall) join(agent, id string) ViewOutput {
	h.t.Helper()
	return must[ViewOutput](h)(h.Join(h.t.Context(), loose, JoinInput{AgentName: agent, SessionID: id}))
}

func (h *hall) get(agent, id, cursor string) ViewOutput {
	h.t.Helper()
	out := must[ViewOutput](h)(h.Get(h.t.Context(), loose, GetInput{AgentName: agent, SessionID: id, Cursor: cursor}))
	if out.Feedback == nil || out.NextCursor == "" {
		h.t.Errorf("the feedback is %v, the cursor %q", out.Feedback, out.NextCursor)
	}
	return out
}

func (h *hall) send(agent, id, content string) SendOutput {
	h.t.Helper()
	return must[SendOutput](h)(h.Send(h.t.Context(), loose, SendInput{AgentName: agent, SessionID: id, Content: content}))
}

func (h *hall) conclude(agent, id string) CloseOutput {
	h.t.Helper()
	return must[CloseOutput](h)(h.Close(h.t.Context(), loose, CloseInput{AgentName: agent, SessionID: id, Conclusion: "so be it"}))
}

func (h *hall) rank(agent, id string, ranking ...string) RankOutput {
	h.t.Helper()
	return must[RankOutput](h)(h.Rank(h.t.Context(), loose, RankInput{AgentName: agent, SessionID: id, Ranking: ranking}))
}

func (h *hall) list(in ListInput) ListOutput {
	h.t.Helper()
	return must[ListOutput](h)(h.List(h.t.Context(), loose, in))
}

func (h *hall) sweep(limit int) int {
	h.t.Helper()
	return must[int](h)(h.SweepCouncils(h.t.Context(), store.NewAdmin(h.DB), limit))
}

// contents is what responses say, in their order.
func contents(list []Feedback) string {
	var out []string
	for _, f := range list {
		out = append(out, f.Content)
	}
	return strings.Join(out, " ")
}

// says checks the kind of a fault and its whole message.
func says(t *testing.T, name string, err error, kind fault.Kind, words string) {
	t.Helper()
	if !fault.Is(err, kind) || err.Error() != words {
		t.Errorf("%s: %v %q, want %v %q", name, fault.Of(err), err, kind, words)
	}
}

// fields are the paths of an Invalid fault.
func fields(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid {
		return fmt.Sprint("no fields: ", err)
	}
	var out []string
	for _, p := range f.Problems {
		out = append(out, p.Path)
	}
	return strings.Join(out, " ")
}

// answers is a call of every operation that is about one council, without its result.
func (h *hall) answers(c identity.Caller, agent, id string) map[string]func(context.Context) error {
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
