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
	"parley.internal/shared/feed"
	"parley.internal/shared/files"
	"parley.internal/shared/hook"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/ledger"
	"parley.internal/shared/me"
	"parley.internal/shared/op"
	"parley.internal/shared/overview"
	"parley.internal/shared/passkeys"
	"parley.internal/shared/pauses"
	"parley.internal/shared/pulse"
	"parley.internal/shared/push"
	"parley.internal/shared/push/direct"
	"parley.internal/shared/quota"
	"parley.internal/shared/relay"
	"parley.internal/shared/search"
	"parley.internal/shared/signal"
	"parley.internal/shared/sprint"
	"parley.internal/shared/store"
	"parley.internal/shared/team"
)

// App holds the domain services over one store. Make one with [New].
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
	Files    *files.Service
	Keys     *keys.Service
	Passkeys *passkeys.Service
	WhoAmI   *me.Service
	Pause    *pauses.Service
	Hook     *hook.Service

	// domains lists the services in the order in which documents list their tools.
	domains   []any
	catalogue func() *op.Catalogue
	known     *directory
	halted    *perUser[[]identity.Pause]
	quota     *quota.Limiter
	now       func() time.Time
}

// Ports are the external dependencies of the services. A zero field has a default.
type Ports struct {
	Now   func() time.Time // by default time.Now; its times are truncated to microseconds, the precision of the stores
	NewID func() string    // by default UUIDv7
	// Shard is the number of the ledger's totals that this process adds to, 0 to ledger.Shards-1.
	Shard int
	// Sender sends notifications to a person's devices. By default none are sent.
	Sender push.Sender
	// Direct sends notifications to devices at addresses of their own, such as topics of ntfy. By default it has no VAPID
	// key, so that no browser can be registered, and calls public addresses only.
	Direct signal.Direct
	// Listens means that the process follows the reply topics of devices.
	Listens bool
	// PublicURL is the address of the hub for a person's browser, such as https://example.org; empty if unknown.
	PublicURL string
	// Workspace returns the reader of the files that a user's verifications refer to, nil if the server has no access to
	// them; see [elenchus.Service].
	Workspace func(user string) elenchus.Reader
	// KeepIdle is the time for which fires, read messages of teams, and tasks that nobody claims and that do not expire are
	// kept after their last word or change; [KeepIdle] by default.
	KeepIdle time.Duration
	// Limits are those of the server, which whoami tells.
	Limits me.Limits
	// Quota bounds the data of a user in the store; a zero field is no limit.
	Quota store.Usage
}

// KeepIdle is the default time for which unused objects are kept.
const KeepIdle = 90 * 24 * time.Hour

// New builds the services over a store and connects them. db may be nil where only definitions are needed, such as the
// catalogue.
func New(db *store.DB, p Ports) *App {
	p.complete()
	a := &App{DB: db, now: p.Now}
	a.Keys = &keys.Service{DB: db, Now: p.Now, PublicURL: p.PublicURL, Toolsets: func() []string { return a.catalogue().Toolsets() }}
	a.Sprint = &sprint.Service{DB: db, Now: p.Now, NewID: p.NewID}
	known := &directory{perUser[[]string]{load: a.Keys.Programs, fresh: freshPrograms, now: p.Now}}
	a.known = known
	a.Dispatch = &dispatch.Service{Keep: p.KeepIdle, DB: db, Now: p.Now, NewID: p.NewID, Stories: a.Sprint, Directory: known}
	a.Keys.Changed = known.forget
	a.Pulse = &pulse.Service{DB: db, Now: p.Now, NewID: p.NewID, Claims: claims{a.Dispatch}}
	a.Relay = &relay.Service{DB: db, Now: p.Now, NewID: p.NewID, Directory: known, Live: a.Pulse}
	a.Pulse.Mail, a.Dispatch.Mail, a.Sprint.Mail = a.Relay, a.Relay, a.Relay
	a.Dispatch.Sessions, a.Sprint.Sessions = a.Pulse, a.Pulse
	a.Signal = &signal.Service{
		DB:        db,
		Now:       p.Now,
		NewID:     p.NewID,
		Sender:    p.Sender,
		Direct:    p.Direct,
		Listens:   p.Listens,
		PublicURL: strings.TrimSuffix(p.PublicURL, "/"),
	}
	a.Signal.Registrant, a.Signal.Paired = a.Keys.Assurance, a.Keys.Paired
	a.Keys.Guarded = passkeys.Any
	a.Passkeys = &passkeys.Service{DB: db, Now: p.Now, Address: p.PublicURL, Keys: browsers{a.Keys}, Questions: replies{a.Signal}}
	a.Pulse.Notifier = a.Signal
	a.Dream = &dream.Service{DB: db, Now: p.Now, Queue: a.Dispatch}
	a.Ledger = &ledger.Service{DB: db, Now: p.Now, NewID: p.NewID, Shard: p.Shard}
	a.Overview = &overview.Service{DB: db, Now: p.Now, Sessions: atWork{a.Pulse}, Mail: unread{a.Relay, known},
		Callers: &callers{perUser[[]overview.Caller]{load: a.without, fresh: freshPrograms, now: p.Now}}}
	a.Council = &council.Service{DB: db, Now: p.Now, NewID: p.NewID}
	a.Campfire = &campfire.Service{DB: db, Now: p.Now, Keep: p.KeepIdle}
	a.Elenchus = &elenchus.Service{DB: db, Now: p.Now, Workspace: p.Workspace}
	a.Team = &team.Service{DB: db, Now: p.Now, NewID: p.NewID, Keys: a.Keys, Keep: p.KeepIdle}
	a.Files = &files.Service{DB: db, Now: p.Now, NewID: p.NewID, Mail: a.Relay, Sessions: a.Pulse}
	a.Pause = &pauses.Service{DB: db, Now: p.Now}
	a.WhoAmI = &me.Service{Toolsets: a.Keys.Toolsets, Limits: p.Limits}
	a.quota = quota.New(p.Quota, p.Now, func(ctx context.Context, user string) (store.Usage, error) {
		return db.User(user).Usage(ctx)
	})
	a.halted = &perUser[[]identity.Pause]{load: a.Pause.InForce, fresh: freshPauses, now: p.Now}
	a.Pause.Changed = a.halted.forget
	a.Hook = &hook.Service{DB: db, Now: p.Now, NewID: p.NewID, Sessions: seats{a.Pulse}, Mail: letters{a.Relay},
		Claims: givenBack{a.Dispatch}, Files: edits{a.Files}, Ledger: spending{a.Ledger}, Teams: a.Team,
		Pauses: halts{a.Pause, a.halted}}
	a.domains = []any{
		a.Dispatch,
		a.Relay,
		a.Pulse,
		a.Signal,
		a.Dream,
		a.Sprint,
		a.Ledger,
		a.Overview,
		&feed.Service{DB: db},
		&search.Service{DB: db, Searches: a.searches},
		a.Council,
		a.Campfire,
		a.Elenchus,
		a.Team,
		a.Files,
		a.Keys,
		a.Passkeys,
		a.WhoAmI,
		a.Pause,
		a.Hook,
	}
	a.catalogue = sync.OnceValue(a.collect)
	return a
}

// complete sets the defaults of the ports that are not given, and gives the clock the precision of the stores.
func (p *Ports) complete() {
	clock := p.Now
	if clock == nil {
		clock = time.Now
	}
	p.Now = func() time.Time { return clock().UTC().Truncate(time.Microsecond) }
	if p.NewID == nil {
		p.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if p.KeepIdle == 0 {
		p.KeepIdle = KeepIdle
	}
	if p.Direct == nil {
		p.Direct = direct.New(direct.Options{Now: p.Now})
	}
	if p.Sender == nil {
		p.Sender = push.Log{To: slog.New(slog.DiscardHandler)}
	}
}

// Catalogue returns every operation. It is built on first use and is the same in every call.
func (a *App) Catalogue() *op.Catalogue { return a.catalogue() }

// collect builds the catalogue of the domains' operations, resources, prompts and guides.
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
	for _, d := range offering[domain.Guide](a) {
		c.Guides = append(c.Guides, d.Guide()...)
	}
	for _, d := range a.domains {
		offers, ok := d.(domain.Operations)
		if byDefault, chosen := d.(domain.Defaults); ok && chosen && byDefault.ServedByDefault() {
			c.Defaults = append(c.Defaults, op.Toolsets(offers.Operations())...)
		}
	}
	c.Reserved = a.known.Programs
	c.Pauses = a.halted.get
	c.Room = a.quota.Admit
	c.Meter = func(_ context.Context, u op.Usage) { a.Ledger.Record(u) }
	return c
}

// offering returns the domains that implement Kind.
func offering[Kind any](a *App) []Kind {
	var out []Kind
	for _, d := range a.domains {
		if k, ok := d.(Kind); ok {
			out = append(out, k)
		}
	}
	return out
}

// searches returns the collections that a search finds documents of.
func (a *App) searches() (all []domain.Search) {
	for _, d := range offering[domain.Searches](a) {
		all = append(all, d.Searches()...)
	}
	return all
}

// Schema returns the schema of all collections.
func Schema() *store.Schema {
	defs := []*store.Def{idempotency.Def(), store.LogDef()}
	for _, d := range offering[domain.Collections](New(nil, Ports{})) {
		defs = append(defs, d.Defs()...)
	}
	return store.NewSchema(defs...)
}
