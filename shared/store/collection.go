package store

import (
	"context"
	"reflect"
	"strings"
	"sync"

	"parley.internal/shared/fault"
)

// Collection declares the documents of type T and their indexes. It is declared as a package variable of the domain
// that owns it and listed in the schema.
type Collection[T any] struct {
	// Name is the path below a user, such as "tasks", with a star for each parent document, as in "fires/*/messages".
	// Its last segment is unique in a schema.
	Name string
	// PartOf names the object that a document is a part of, such as "a task"; calls about different objects do not contend
	// for it. A collection whose documents an operation changes must have one, which the table of docs/scale.md shows.
	PartOf string
	// Indexes are the indexes that queries may use, such as "status,routes[],rank desc": the equalities first, then the
	// order. Arrays are marked with [].
	Indexes []string
	// Filters are indexes that only narrow a query on one of Indexes with the same order. Firestore merges the two.
	Filters []string
	// AllUsers are the indexes of queries over all users, which only [Admin] can make.
	AllUsers []string
	// Unindexed are large fields that no query uses, excluded from Firestore's automatic indexes.
	Unindexed []string
	// Log is the noun of a document in the log of the user, such as "task". The writes of a collection without one are not
	// logged.
	Log string
	// Note describes a document that was created or replaced, for the log.
	Note func(v *T, id string) Note
	// Text returns the text by which a search finds a document; documents of a collection without it are not found. A
	// patch must not change the text.
	Text func(v *T, ref Ref) Text

	parents  []string
	sameText bool
}

// Def is a declaration without its type, as schemas and drivers hold it.
type Def struct {
	Name      string
	PartOf    string
	Indexes   []*Index
	Unindexed []string
	// TTL reports that the documents have the field [PurgeField].
	TTL bool
	// Searched declares the texts of the documents, nil if they have none.
	Searched *Searched
	// Log is the kind of the changes in the log, empty for a collection that is not logged.
	Log string
}

// ID returns the last segment of the name.
func (d *Def) ID() string { return d.Name[strings.LastIndexByte(d.Name, '/')+1:] }

// PurgeField is the time after which the store deletes a document.
const PurgeField = "purgeAt"

var defs sync.Map // by collection name and type, so that a query plans without parsing

type defKey struct {
	name string
	t    reflect.Type
}

// Def returns the declaration. It panics if an index cannot be parsed, so that the mistake shows when the program
// starts.
func (c Collection[T]) Def() *Def {
	key := defKey{c.Name, reflect.TypeFor[T]()}
	if d, ok := defs.Load(key); ok {
		return d.(*Def)
	}
	d := &Def{Name: c.Name, PartOf: c.PartOf, Unindexed: c.Unindexed, Searched: c.searched(), Log: c.Log}
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

// Under returns the collection below the given parent documents, one id for each star in its name.
func (c Collection[T]) Under(parents ...string) Collection[T] {
	c.parents = parents
	return c
}

// Doc is a document of a collection.
type Doc[T any] struct {
	ID    string
	Value T
}

// Page is the result of a query. Next is the cursor of the next page, and is empty at the end.
type Page[T any] struct {
	Docs []Doc[T]
	Next string

	plan Plan
	raws []Raw
}

// After returns the cursor that continues after document i of the page, for a caller that returns only part of it.
func (p Page[T]) After(i int) string { return p.plan.cursor(p.raws[i]) }

// Get returns one document. A missing one is NotFound, a malformed id Invalid.
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

// Fetch is one read of a [Load]. After the Load, Found reports whether the document exists.
type Fetch struct {
	Found bool
	err   error
	def   *Def
	ref   Ref
	into  func(Fields) error
}

// Fetch prepares to read one document into v. A missing document leaves v unchanged.
func (c Collection[T]) Fetch(id string, v *T) *Fetch {
	f := &Fetch{def: c.Def(), into: func(d Fields) error { return decode(d, v) }}
	f.ref, f.err = c.ref("", id)
	return f
}

// Load reads documents of any collections in one call of the driver. A missing document is not an error.
func Load(ctx context.Context, r Reader, fetches ...*Fetch) error {
	refs := make([]Ref, len(fetches))
	for i, f := range fetches {
		if f.err != nil {
			return f.err
		}
		if err := r.checkDef(f.def); err != nil {
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

// Decode decodes the fields of an event or a change. Nil fields give the zero value. Fields that do not fit the type
// are Invalid.
func (c Collection[T]) Decode(d Fields) (T, error) {
	var v T
	if err := decode(d, &v); err != nil {
		return v, fault.Wrap(fault.Invalid, err, "the fields are not a document of %s", c.Name)
	}
	return v, nil
}

// Encode returns the fields of a document as an event carries them. It fails if the store cannot hold a value.
func (c Collection[T]) Encode(v T) (Fields, error) { return encode(v) }

// Query returns one page. A query that no declared index serves is Internal, a cursor of another query Invalid.
func (c Collection[T]) Query(ctx context.Context, r Reader, q Query) (Page[T], error) {
	var page Page[T]
	def := c.Def()
	if err := r.checkDef(def); err != nil {
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

// Create adds a document. If it exists already, the commit is refused with Exists.
func (c Collection[T]) Create(tx *Tx, id string, v T) { c.write(tx, Create, id, &v, nil) }

// Put adds a document or replaces it as a whole.
func (c Collection[T]) Put(tx *Tx, id string, v T) { c.write(tx, Put, id, &v, nil) }

// Patch changes single fields of a document. If it does not exist, the commit is refused with NotFound.
func (c Collection[T]) Patch(tx *Tx, id string, edits ...Edit) { c.write(tx, Patch, id, nil, edits) }

// Delete removes a document, if it exists.
func (c Collection[T]) Delete(tx *Tx, id string) { c.write(tx, Delete, id, nil, nil) }

// DeleteWhere deletes at most q.Limit matching documents in a transaction of its own and returns their number. A number
// below q.Limit means that none is left.
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
	err := tx.checkDef(def)
	if err == nil {
		w.Ref, err = c.ref(tx.user(), id)
	}
	if err == nil && v != nil {
		w.Fields, err = encode(v)
	}
	if err == nil && edits != nil {
		w.Edits, err = encodeEdits(edits)
	}
	if err == nil {
		w.Entry = c.entry(tx, action, id, v)
		c.text(tx, &w, v)
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

// path returns the concrete path: the name with its stars replaced by the parents.
func (c Collection[T]) path() (string, error) {
	if strings.Count(c.Name, "*") != len(c.parents) {
		return "", fault.New(fault.Internal, "store: collection %s must have %d parents, not %d",
			c.Name, strings.Count(c.Name, "*"), len(c.parents))
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
