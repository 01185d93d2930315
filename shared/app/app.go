package app

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/keys"
	"parley.internal/shared/once"
	"parley.internal/shared/op"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
	"parley.internal/shared/team"
)

// Schema is every collection of Parley.
func Schema() *store.Schema {
	return store.NewSchema(slices.Concat(dispatch.Defs(), team.Defs(),
		[]*store.Def{relay.Def(), keys.Def(), once.Def()})...)
}

// App is the domain services over one store.
type App struct {
	DB       *store.DB
	Dispatch *dispatch.Service
	Relay    *relay.Service
	Signal   *signal.Service
	Team     *team.Service
	Keys     *keys.Service

	catalogue *op.Catalogue
}

// Ports are what the services get from outside. A zero field has a default.
type Ports struct {
	Now   func() time.Time // time.Now, cut to the microseconds that a store keeps
	NewID func() string    // UUIDv7
}

// New wires the services.
func New(db *store.DB, p Ports) *App {
	if p.Now == nil {
		p.Now = func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	}
	if p.NewID == nil {
		p.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	a := &App{DB: db}
	a.Keys = &keys.Service{DB: db, Now: p.Now, Toolsets: func() []string { return a.catalogue.Toolsets() }}
	a.Dispatch = &dispatch.Service{DB: db, Now: p.Now, NewID: p.NewID}
	known := &directory{source: a.Keys, now: p.Now}
	a.Keys.Changed = known.forget
	a.Relay = &relay.Service{DB: db, Now: p.Now, NewID: p.NewID, Directory: known}
	a.Signal = &signal.Service{DB: db, Now: p.Now, NewID: p.NewID}
	a.Team = &team.Service{DB: db, Now: p.Now, NewID: p.NewID}
	a.catalogue = op.NewCatalogue(a.Dispatch.Operations(), a.Relay.Operations(), a.Signal.Operations(), a.Team.Operations(), a.Keys.Operations())
	return a
}

// Catalogue is every operation.
func (a *App) Catalogue() *op.Catalogue { return a.catalogue }

// DefaultToolsets are those that /mcp serves.
var DefaultToolsets = []string{"dispatch", "relay", "pulse", "signal", "dream", "sprint"}

// directory caches who is known, so that sending a message costs no read.
type directory struct {
	source relay.Directory
	now    func() time.Time
	mu     sync.Mutex
	known  map[string]listing
}

type listing struct {
	programs []string
	at       time.Time
}

// fresh is how long the programs of a user are taken as known; maxUsers bounds
// how many users' are kept.
const (
	fresh    = time.Minute
	maxUsers = 10_000
)

// Programs implements relay.Directory.
func (d *directory) Programs(ctx context.Context, user string) ([]string, error) {
	d.mu.Lock()
	l, ok := d.known[user]
	d.mu.Unlock()
	now := d.now()
	if ok && now.Sub(l.at) < fresh {
		return l.programs, nil
	}
	programs, err := d.source.Programs(ctx, user)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxUsers {
		d.known = map[string]listing{}
	}
	d.known[user] = listing{programs, now}
	return programs, nil
}

func (d *directory) forget(user string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, user)
}
