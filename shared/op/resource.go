package op

import (
	"context"

	"parley.internal/shared/identity"
)

// Resource is a kind of document that MCP clients list and read by a URI. It stands on
// the same methods as the operations, under the same rules of who may see what.
type Resource struct {
	// Scheme is the URI up to the id, "parley://fires/".
	Scheme string
	// Name, Title and Doc tell clients of the kind.
	Name, Title, Doc string
	// Toolset is whose scopes reach it.
	Toolset string
	// List reads a page of what the caller may read.
	List func(ctx context.Context, c identity.Caller, cursor string, limit int) (Listing, error)
	// Read is one document, as what its reading operation answers. It changes nothing.
	// A missing one is NotFound.
	Read func(ctx context.Context, c identity.Caller, id string) (any, error)
}

// Listing is a page of resources of one kind.
type Listing struct {
	Items []Item
	// Next leads to what follows; empty where nothing does.
	Next string
}

// Item is a resource in a list.
type Item struct {
	ID string
	// Title is short; what agents wrote is cut to 100 characters.
	Title string
}
