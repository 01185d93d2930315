// Package domain defines the interfaces between a domain and the application that runs it.
//
// A domain is a package with a Service. The application registers the service once and learns its features by these
// interfaces; each of them is optional. The package contains the interfaces and their types, and no code that uses
// them.
package domain

import (
	"context"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Collections is implemented by a domain that stores documents. Defs returns the definitions of its collections. It must
// work on a service without a store.
type Collections interface{ Defs() []*store.Def }

// Operations is implemented by a domain that agents and people call. The catalogue has the operations in the order in
// which the domains are registered.
type Operations interface{ Operations() []op.Op }

// Defaults is implemented by a domain that may be served to callers that choose no toolset. ServedByDefault reports
// whether it is.
type Defaults interface{ ServedByDefault() bool }

// Sweeps is implemented by a domain with periodic work.
type Sweeps interface{ Sweeps() []Sweep }

// Reactions is implemented by a domain that acts on changes of documents.
type Reactions interface{ Reactions() []Reaction }

// Resources is implemented by a domain whose documents MCP clients can list and read.
type Resources interface{ Resources() []op.Resource }

// Prompts is implemented by a domain with MCP prompts, which guide an agent through its tools.
type Prompts interface{ Prompts() []op.Prompt }

// Guide is a domain with lines in the instructions that an MCP client gives its model.
type Guide interface{ Guide() []op.Guide }

// Searches is implemented by a domain whose documents a search finds.
type Searches interface{ Searches() []Search }

// Search is a collection that is searched.
type Search struct {
	// Collection is the name of the collection.
	Collection string
	// MayRead reports whether the caller may read a document that was found.
	MayRead func(identity.Caller, store.Hit) (bool, error)
}

// Searching returns the search of a collection, whose documents may be read as the function says.
func Searching[T any](coll store.Collection[T], mayRead func(identity.Caller, *T, store.Ref) bool) Search {
	return Search{Collection: coll.Name, MayRead: func(c identity.Caller, h store.Hit) (bool, error) {
		v, err := coll.Decode(h.Fields)
		return err == nil && mayRead(c, &v, h.Ref), err
	}}
}

// Sweep is one step of a scheduled sweep.
type Sweep struct {
	// Schedule is the sweep that runs the step: [Sessions], [Tasks], [Relay] or [Ledger].
	Schedule string
	// Name is the name of the step in reports.
	Name string
	// Takes means that the step takes work from agents that were not heard of in time. It waits where they could not be.
	Takes bool
	// Run handles at most limit documents and returns their number. A number below limit means that none is left. It
	// may be interrupted at any point, and the next run must then complete its work.
	Run func(ctx context.Context, a *store.Admin, limit int) (int, error)
}

// The schedules. Each is a Cloud Function, and a ticker in a server with the embedded store.
const (
	Sessions = "sessions"
	Tasks    = "tasks"
	Relay    = "relay"
	Ledger   = "ledger"
)

// Reaction is the work of a domain after a change of a document.
type Reaction struct {
	// Name is the name of the reaction in logs and deployments.
	Name string
	// Collection and Kind select the changes.
	Collection string
	Kind       store.EventKind
	// MaxAge is the greatest age of an event; an older one is dropped.
	MaxAge time.Duration
	// Concerns reports whether the reaction needs the event of a change. It is called before the commit of every write
	// to the collection, so it must return quickly.
	Concerns func(kind store.EventKind, before, after store.Fields) bool
	// Run acts on an event. An event may be delivered more than once, also concurrently, and must take effect once. The
	// kind of the returned fault determines whether the event is delivered again.
	Run func(context.Context, store.Event) error
}
