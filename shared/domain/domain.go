// Package domain has the contracts between a domain and the application that runs it.
//
// A domain is a package with a Service. The application registers the service once, and finds its
// offers by the interfaces below: a domain without work for a schedule has no Sweeps. The package
// holds these contracts and nothing that acts on them.
package domain

import (
	"context"
	"time"

	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Collections is a domain with documents of its own. Defs is called on a service without a
// store.
type Collections interface{ Defs() []*store.Def }

// Operations is a domain that agents and people call. Its operations stand in the catalogue in
// the order of the registrations.
type Operations interface{ Operations() []op.Op }

// Defaults is a domain whose toolset is served where the caller chooses none.
type Defaults interface{ ServedByDefault() bool }

// Sweeps is a domain with work that time makes.
type Sweeps interface{ Sweeps() []Sweep }

// Reactions is a domain that acts on changes of documents.
type Reactions interface{ Reactions() []Reaction }

// Resources is a domain whose documents MCP clients list and read.
type Resources interface{ Resources() []op.Resource }

// Prompts is a domain that leads agents through its tools.
type Prompts interface{ Prompts() []op.Prompt }

// Guide is a domain with lines in the instructions that an MCP client gives its model.
type Guide interface{ Guide() []op.Guide }

// Sweep is one step of a scheduled sweep.
type Sweep struct {
	// Schedule is the name of the sweep that it is a step of: [Sessions], [Tasks], [Relay] or
	// [Ledger].
	Schedule string
	// Name tells the step in reports.
	Name string
	// Run handles at most limit documents and returns their number: fewer mean that none is
	// left. It may be ended at any point, and is then run again.
	Run func(ctx context.Context, a *store.Admin, limit int) (int, error)
}

// The schedules. Each is a Cloud Function, and a ticker on a laptop.
const (
	Sessions = "sessions"
	Tasks    = "tasks"
	Relay    = "relay"
	Ledger   = "ledger"
)

// Reaction is what follows from a change of a document. It may be given the same event more than
// once, also at once: it acts on it once.
type Reaction struct {
	// Name is the reaction's in logs and deployments.
	Name string
	// Collection and Kind are the changes that it is for.
	Collection string
	Kind       store.EventKind
	// MaxAge is the greatest age of an event; an older one is dropped.
	MaxAge time.Duration
	// Concerns says whether the reaction acts on such a change. It must be quick: it is asked of
	// every write to the collection, before the commit.
	Concerns func(kind store.EventKind, before, after store.Fields) bool
	// Run acts on an event. A fault says whether the event should come again.
	Run func(context.Context, store.Event) error
}
