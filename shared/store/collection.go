package store

import (
	"context"
	"reflect"
	"strings"
	"sync"

	"parley.internal/shared/fault"
)

// Collection declares documents of one type and how they are found. Declare it
// as a package variable of the domain that owns it, and list it in the schema.
type Collection[T any] struct {
	// Name is the path under a user, "tasks", with a star for every parent
	// document, "fires/*/messages". Its last segment is unique in a schema.
	Name string
	// Indexes are what queries stand on, each "status,routes[],rank desc":
	// equalities first, then the order. Arrays are marked [].
	Indexes []string
	// Filters are indexes that only ever narrow a query on one of Indexes that ends
	// in the same order; Firestore merges the two.
	Filters []string
	// AllUsers are the indexes of queries over all users, by [Admin] alone.
	AllUsers []string
	// Unindexed are large fields that no query names, which Firestore would
	// otherwise index by themselves.
	Unindexed []string

	parents []string
}

// Def is a declaration without its type, as schemas and drivers hold it.
type Def struct {
	Name      string
	Indexes   []*Index
	Unindexed []string
	// TTL says that the documents have a purgeAt, after which the store deletes them.
	TTL bool
}

// ID is the last segment of the name.
func (d *Def) ID() string { return d.Name[strings.LastIndexByte(d.Name, '/')+1:] }

// PurgeField is the time after which the store deletes a document by itself.
const PurgeField = "purgeAt"

var defs sync.Map // by collection name and type, so that a query plans without parsing

type defKey struct {
	name string
	t    reflect.Type
}

// Def is the declaration. It panics where an index cannot be parsed, which a
// start of the program shows.
func (c Collection[T]) Def() *Def {
	key := defKey{c.Name, reflect.TypeFor[T]()}
	if d, ok := defs.Load(key); ok {
		return d.(*Def)
	}
	d := &Def{Name: c.Name, Unindexed: c.Unindexed}
	for _, list := range []struct {
		specs         []string
		group, filter bool
	}{{c.Indexes, false, false}, {c.Filters, false, true}, {c.AllUsers, true, false}} {
		for _, s := range list.specs {
			x, err := parseIndex(s, list.group)
			if err != nil {
				panic(err)
			}
			x.MergeOnly = list.filter
			d.Indexes = append(d.Indexes, x)
		}
	}
	for _, f := range planOf(reflect.TypeFor[T]()).fields {
		d.TTL = d.TTL || f.name == PurgeField
	}
	actual, _ := defs.LoadOrStore(key, d)
	return actual.(*Def)
}

// Under is the collection below the given parent documents, one for each star
// in its name.
func (c Collection[T]) Under(parents ...string) Collection[T] {
	c.parents = parents
	return c
}

// Doc is a document of a collection.
type Doc[T any] struct {
	ID    string
	Value T
}

// Page is what a query found. Next leads to what follows, and is empty where
// nothing can follow.
type Page[T any] struct {
	Docs []Doc[T]
	Next string

	plan Plan
	raws []Raw
}

// After is the cursor of what follows the i-th document of the page, for a caller
// that does not hand out all of it.
func (p Page[T]) After(i int) string { return p.plan.cursor(p.raws[i]) }

// Get reads one document. A missing one is NotFound.
func (c Collection[T]) Get(ctx context.Context, r Reader, id string) (T, error) {
	var v T
	f := c.Fetch(id, &v)
	if err := Load(ctx, r, f); err != nil {
		return v, err
	}
	if !f.Found {
		return v, fault.New(fault.NotFound, "no %s with id %q", c.Def().ID(), id)
	}
	return v, nil
}

// Fetch is one document of a [Load]; Found says afterwards whether it was there.
type Fetch struct {
	Found bool
	err   error
	def   *Def
	ref   Ref
	into  func(Fields) error
}

// Fetch prepares to read one document into v.
func (c Collection[T]) Fetch(id string, v *T) *Fetch {
	f := &Fetch{def: c.Def(), into: func(d Fields) error { return decode(d, v) }}
	f.ref, f.err = c.ref("", id)
	return f
}

// Load reads documents of any collections at once.
func Load(ctx context.Context, r Reader, fetches ...*Fetch) error {
	refs := make([]Ref, len(fetches))
	for i, f := range fetches {
		if f.err != nil {
			return f.err
		}
		if err := r.knows(f.def); err != nil {
			return err
		}
		f.ref.User = r.user()
		refs[i] = f.ref
	}
	reads, err := r.reads(ctx)
	if err != nil {
		return err
	}
	raws, err := reads.Get(ctx, refs)
	if err != nil {
		return err
	}
	for i, raw := range raws {
		fetches[i].Found = raw != nil
		if raw == nil {
			continue
		}
		if err := fetches[i].into(raw.Fields); err != nil {
			return fault.Wrap(fault.Internal, err, "document %s/%s", raw.Ref.Coll, raw.Ref.ID)
		}
	}
	return nil
}

// Decode reads the fields of an event or a change into the collection's type; nil is
// the zero value. What does not fit is Invalid.
func (c Collection[T]) Decode(d Fields) (T, error) {
	var v T
	if err := decode(d, &v); err != nil {
		return v, fault.Wrap(fault.Invalid, err, "this is no document of %s", c.Name)
	}
	return v, nil
}

// Encode is the document as an event brings it.
func (c Collection[T]) Encode(v T) (Fields, error) { return encode(v) }

// Query reads one page.
func (c Collection[T]) Query(ctx context.Context, r Reader, q Query) (Page[T], error) {
	var page Page[T]
	def := c.Def()
	if err := r.knows(def); err != nil {
		return page, err
	}
	coll, err := c.path()
	if err != nil {
		return page, err
	}
	plan, err := q.plan(def, r.user(), coll, false)
	if err != nil {
		return page, err
	}
	reads, err := r.reads(ctx)
	if err != nil {
		return page, err
	}
	raws, err := reads.Query(ctx, plan)
	if err != nil {
		return page, err
	}
	page.Docs, page.plan, page.raws = make([]Doc[T], len(raws)), plan, raws
	for i, raw := range raws {
		page.Docs[i].ID = raw.Ref.ID
		if err := decode(raw.Fields, &page.Docs[i].Value); err != nil {
			return page, fault.Wrap(fault.Internal, err, "document %s/%s", raw.Ref.Coll, raw.Ref.ID)
		}
	}
	if len(raws) == plan.Limit {
		page.Next = plan.cursor(raws[len(raws)-1])
	}
	return page, nil
}

// Create adds a document that must not be there; the commit is refused with
// Exists otherwise.
func (c Collection[T]) Create(tx *Tx, id string, v T) { c.write(tx, Create, id, &v, nil) }

// Put sets a document whole, whether it is there or not.
func (c Collection[T]) Put(tx *Tx, id string, v T) { c.write(tx, Put, id, &v, nil) }

// Patch changes single fields of a document; the commit is refused with
// NotFound where it is not there.
func (c Collection[T]) Patch(tx *Tx, id string, edits ...Edit) { c.write(tx, Patch, id, nil, edits) }

// Delete removes a document, if it is there.
func (c Collection[T]) Delete(tx *Tx, id string) { c.write(tx, Delete, id, nil, nil) }

// DeleteWhere removes at most q.Limit documents that match and says how many
// they were: fewer than q.Limit means that none is left.
func (c Collection[T]) DeleteWhere(ctx context.Context, t *Tenant, q Query) (int, error) {
	n := 0
	err := t.Update(ctx, func(ctx context.Context, tx *Tx) error {
		page, err := c.Query(ctx, tx, q)
		if err != nil {
			return err
		}
		for _, d := range page.Docs {
			c.Delete(tx, d.ID)
		}
		n = len(page.Docs)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (c Collection[T]) write(tx *Tx, action Action, id string, v *T, edits []Edit) {
	def := c.Def()
	w := Write{Action: action, Def: def}
	err := tx.knows(def)
	if err == nil {
		w.Ref, err = c.ref(tx.user(), id)
	}
	if err == nil && v != nil {
		w.Fields, err = encode(v)
	}
	if err == nil && edits != nil {
		w.Edits, err = encodeEdits(edits)
	}
	tx.add(w, err)
}

func (c Collection[T]) ref(user, id string) (Ref, error) {
	coll, err := c.path()
	if err != nil {
		return Ref{}, err
	}
	if err := checkID(id); err != nil {
		return Ref{}, err
	}
	return Ref{User: user, Coll: coll, ID: id}, nil
}

// path is the concrete path, the stars of the name filled by the parents.
func (c Collection[T]) path() (string, error) {
	if strings.Count(c.Name, "*") != len(c.parents) {
		return "", fault.New(fault.Internal, "collection %s needs %d parents, not %d", c.Name, strings.Count(c.Name, "*"), len(c.parents))
	}
	path := c.Name
	for _, p := range c.parents {
		if err := checkID(p); err != nil {
			return "", err
		}
		path = strings.Replace(path, "*", p, 1)
	}
	return path, nil
}
