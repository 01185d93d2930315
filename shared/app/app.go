package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley.internal/shared/campfire"
	"parley.internal/shared/council"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/dream"
	"parley.internal/shared/elenchus"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/keys"
	"parley.internal/shared/ledger"
	"parley.internal/shared/op"
	"parley.internal/shared/overview"
	"parley.internal/shared/pulse"
	"parley.internal/shared/push"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/sprint"
	"parley.internal/shared/store"
	"parley.internal/shared/team"
)

// Schema is every collection of Parley.
func Schema() *store.Schema {
	return store.NewSchema(slices.Concat(dispatch.Defs(), relay.Defs(), pulse.Defs(), signal.Defs(), ledger.Defs(),
		council.Defs(), campfire.Defs(), elenchus.Defs(), team.Defs(),
		keys.Defs(), []*store.Def{idempotency.Def()})...)
}

// App is the domain services over one store.
type App struct {
	DB       *store.DB
	Dispatch *dispatch.Service
	Relay    *relay.Service
	Pulse    *pulse.Service
	Signal   *signal.Service
	Dream    *dream.Service
	Sprint   *sprint.Service
	Ledger   *ledger.Service
	Overview *overview.Service
	Council  *council.Service
	Campfire *campfire.Service
	Elenchus *elenchus.Service
	Team     *team.Service
	Keys     *keys.Service

	catalogue *op.Catalogue
	now       func() time.Time
}

// Ports are what the services get from outside. A zero field has a default.
type Ports struct {
	Now   func() time.Time // time.Now, cut to the microseconds that a store keeps
	NewID func() string    // UUIDv7
	// Shard is which of the ledger's totals this process adds to, 0 to ledger.Shards-1.
	Shard int
	// Sender rings a human's devices for the reactions; without one nothing rings.
	Sender push.Sender
	// PublicURL is where a person's browser finds the hub, https://example.org; empty
	// where that is not known.
	PublicURL string
	// Workspace reads the files that are verified; nil where the server has none of them.
	Workspace elenchus.Reader
}

// New wires the services.
func New(db *store.DB, p Ports) *App {
	if p.Now == nil {
		p.Now = func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	}
	if p.NewID == nil {
		p.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if p.Sender == nil {
		p.Sender = push.Log{To: slog.New(slog.DiscardHandler)}
	}
	a := &App{DB: db, now: p.Now}
	a.Keys = &keys.Service{DB: db, Now: p.Now, Toolsets: func() []string { return a.catalogue.Toolsets() }}
	a.Sprint = &sprint.Service{DB: db, Now: p.Now, NewID: p.NewID}
	a.Dispatch = &dispatch.Service{DB: db, Now: p.Now, NewID: p.NewID, Stories: a.Sprint}
	known := &directory{source: a.Keys, now: p.Now}
	a.Keys.Changed = known.forget
	a.Pulse = &pulse.Service{DB: db, Now: p.Now, NewID: p.NewID, Claims: claims{a.Dispatch}}
	a.Relay = &relay.Service{DB: db, Now: p.Now, NewID: p.NewID, Directory: known, Live: a.Pulse}
	a.Pulse.Mail = a.Relay
	a.Signal = &signal.Service{DB: db, Now: p.Now, NewID: p.NewID, Sender: p.Sender, PublicURL: strings.TrimSuffix(p.PublicURL, "/")}
	a.Pulse.Bell = a.Signal
	a.Dream = &dream.Service{DB: db, Now: p.Now, Queue: a.Dispatch}
	a.Ledger = &ledger.Service{DB: db, Now: p.Now, NewID: p.NewID, Shard: p.Shard}
	a.Overview = &overview.Service{DB: db, Now: p.Now, Sessions: atWork{a.Pulse}, Mail: unread{a.Relay, known}}
	a.Council = &council.Service{DB: db, Now: p.Now, NewID: p.NewID}
	a.Campfire = &campfire.Service{DB: db, Now: p.Now}
	a.Elenchus = &elenchus.Service{DB: db, Now: p.Now, Workspace: p.Workspace}
	a.Team = &team.Service{DB: db, Now: p.Now, NewID: p.NewID}
	a.catalogue = op.NewCatalogue(a.Dispatch.Operations(), a.Relay.Operations(), a.Pulse.Operations(), a.Signal.Operations(),
		a.Dream.Operations(), a.Sprint.Operations(), a.Ledger.Operations(), a.Overview.Operations(), a.Council.Operations(), a.Campfire.Operations(),
		a.Elenchus.Operations(), a.Team.Operations(), a.Keys.Operations())
	a.catalogue.Resources = slices.Concat(a.Council.Resources(), a.Campfire.Resources(), a.Elenchus.Resources())
	a.catalogue.Meter = func(_ context.Context, u op.Usage) { a.Ledger.Record(u) }
	return a
}

// Catalogue is every operation.
func (a *App) Catalogue() *op.Catalogue { return a.catalogue }

// DefaultToolsets are those that /mcp serves.
var DefaultToolsets = []string{"dispatch", "relay", "pulse", "signal", "dream", "sprint"}
