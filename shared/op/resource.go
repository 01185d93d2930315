package op

import (
	"context"
	"encoding/json"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Resource is a kind of document that MCP clients list and read by URI. It uses the same service methods as the
// operations, with the same authorisation.
type Resource struct {
	// Scheme is the URI up to the id, "parley://fires/".
	Scheme string
	// Name, Title and Doc describe the kind to clients.
	Name, Title, Doc string
	// Toolset is the set that a key must be allowed to use.
	Toolset string
	// List returns a page of the documents that the caller may read.
	List func(ctx context.Context, c identity.Caller, cursor string, limit int) (Listing, error)
	// Read returns one document, as the output of the operation that reads it, and changes nothing. A document that
	// does not exist is NotFound.
	Read func(ctx context.Context, c identity.Caller, id string) (any, error)
}

// Listing is a page of resources of one kind.
type Listing struct {
	Items []Item
	// Next is the cursor of the next page, empty on the last.
	Next string
}

// Item is a resource in a list.
type Item struct {
	ID string
	// Title is a short title. Text by agents is cut to 100 characters.
	Title string
}

// MayRead returns nil if the caller may read resources of the kind, and otherwise a Forbidden fault with the reason.
func (r *Resource) MayRead(c identity.Caller) error {
	if !c.InToolset(r.Toolset) {
		return fault.New(
			fault.Forbidden,
			"this key may not use the toolset %s; its scopes are %s",
			r.Toolset,
			strings.Join(c.Scopes, ", "),
		)
	}
	return nil
}

// ListResources returns a page of the resources of a kind. Like [Catalogue.Call] it authorises the caller, logs one
// line and calls the meter, under the name of the kind. Its errors are faults.
func (c *Catalogue) ListResources(
	ctx context.Context,
	r *Resource,
	call Call,
	cursor string,
	limit int,
) (out Listing, err error) {
	err = c.access(ctx, r, "list", call, func(caller identity.Caller) error {
		out, err = r.List(ctx, caller, cursor, limit)
		return err
	})
	return out, err
}

// ReadResource returns one document of a kind as JSON. It logs and meters like [Catalogue.ListResources].
func (c *Catalogue) ReadResource(
	ctx context.Context,
	r *Resource,
	call Call,
	id string,
) (out json.RawMessage, err error) {
	err = c.access(ctx, r, "read", call, func(caller identity.Caller) error {
		v, err := r.Read(ctx, caller, id)
		if err == nil {
			out, err = json.Marshal(v)
		}
		return err
	})
	return out, err
}

// access runs fn, which reads resources, with a read-only caller; it logs and meters the call.
func (c *Catalogue) access(
	ctx context.Context, r *Resource, verb string, call Call, fn func(identity.Caller) error,
) (err error) {
	start, o := c.Now(), &Op{Spec: Spec{Name: "resources/" + verb + " " + r.Name, Effect: Read}}
	defer func() {
		took := c.Now().Sub(start)
		c.log(ctx, o, call, took, err)
		c.meter(ctx, o, call, Usage{}, start, took, err)
	}()
	if err := r.MayRead(call.Caller); err != nil {
		return err
	}
	caller, err := c.informed(ctx, false, call.Caller)
	if err != nil {
		return err
	}
	caller.ReadOnly = true
	if _, err := protect(func() (any, error) { return nil, fn(caller) }); err != nil {
		return fault.From(err)
	}
	return nil
}
