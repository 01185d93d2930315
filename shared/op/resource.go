package op

import (
	"context"
	"encoding/json"
	"strings"

	"parley.internal/shared/fault"
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

// MayRead says why the caller may not see resources of the kind, or nil.
func (r *Resource) MayRead(c identity.Caller) error {
	if !c.InToolset(r.Toolset) {
		return fault.New(fault.Forbidden, "this key may not use the toolset %s; its scopes are %s", r.Toolset, strings.Join(c.Scopes, ", "))
	}
	return nil
}

// ListResources reads a page of a kind as [Catalogue.Call] runs an operation: with the
// same checks, one line in the log, and one count in the meter under the kind's name.
func (c *Catalogue) ListResources(ctx context.Context, r *Resource, call Call, cursor string, limit int) (out Listing, err error) {
	err = c.see(ctx, r, "list", call, func(caller identity.Caller) error {
		out, err = r.List(ctx, caller, cursor, limit)
		return err
	})
	return out, err
}

// ReadResource reads one document of a kind, as JSON.
func (c *Catalogue) ReadResource(ctx context.Context, r *Resource, call Call, id string) (out json.RawMessage, err error) {
	err = c.see(ctx, r, "read", call, func(caller identity.Caller) error {
		v, err := r.Read(ctx, caller, id)
		if err == nil {
			out, err = json.Marshal(v)
		}
		return err
	})
	return out, err
}

// see runs fn, which reads resources for a caller who changes nothing, and tells of it.
func (c *Catalogue) see(ctx context.Context, r *Resource, what string, call Call, fn func(identity.Caller) error) (err error) {
	start, o := c.Now(), &Op{Spec: Spec{Name: "resources/" + what + " " + r.Name, Effect: Read}}
	defer func() {
		took := c.Now().Sub(start)
		c.log(ctx, o, call, took, err)
		c.meter(ctx, o, call, Usage{}, start, took, err)
	}()
	if err := r.MayRead(call.Caller); err != nil {
		return err
	}
	caller := call.Caller
	caller.ReadOnly = true
	if _, err := protect(func() (any, error) { return nil, fn(caller) }); err != nil {
		return fault.From(err)
	}
	return nil
}
