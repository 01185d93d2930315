package app

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley.internal/shared/campfire"
	"parley.internal/shared/council"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/domain"
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

	// domains are all of them, in the order in which documents list their tools.
	domains   []any
	catalogue func() *op.Catalogue
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
	// Workspace returns the reader of the files of a user that are verified, nil where the server has none of them; see
	// [elenchus.Service].
	Workspace func(user string) elenchus.Reader
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
	a.Keys = &keys.Service{DB: db, Now: p.Now, Toolsets: func() []string { return a.catalogue().Toolsets() }}
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
	a.domains = []any{
		a.Dispatch,
		a.Relay,
		a.Pulse,
		a.Signal,
		a.Dream,
		a.Sprint,
		a.Ledger,
		a.Overview,
		a.Council,
		a.Campfire,
		a.Elenchus,
		a.Team,
		a.Keys,
	}
	a.catalogue = sync.OnceValue(a.collect)
	return a
}

// Catalogue is every operation. It is made when it is first asked for.
func (a *App) Catalogue() *op.Catalogue { return a.catalogue() }

// collect makes the catalogue of the domains' operations, resources and prompts.
func (a *App) collect() *op.Catalogue {
	var operations [][]op.Op
	for _, d := range offering[domain.Operations](a) {
		operations = append(operations, d.Operations())
	}
	c := op.NewCatalogue(operations...)
	for _, d := range offering[domain.Resources](a) {
		c.Resources = append(c.Resources, d.Resources()...)
	}
	for _, d := range offering[domain.Prompts](a) {
		c.Prompts = append(c.Prompts, d.Prompts()...)
	}
	for _, d := range a.domains {
		offers, ok := d.(domain.Operations)
		if byDefault, chosen := d.(domain.Defaults); ok && chosen && byDefault.ServedByDefault() {
			c.Defaults = append(c.Defaults, op.Toolsets(offers.Operations())...)
		}
	}
	c.Meter = func(_ context.Context, u op.Usage) { a.Ledger.Record(u) }
	return c
}

// offering are the domains that offer something of a kind.
func offering[Kind any](a *App) []Kind {
	var out []Kind
	for _, d := range a.domains {
		if k, ok := d.(Kind); ok {
			out = append(out, k)
		}
	}
	return out
}

// Schema is every collection of Parley.
func Schema() *store.Schema {
	defs := []*store.Def{idempotency.Def()}
	for _, d := range offering[domain.Collections](New(nil, Ports{})) {
		defs = append(defs, d.Defs()...)
	}
	return store.NewSchema(defs...)
}
