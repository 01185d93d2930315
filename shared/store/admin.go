package store

import (
	"context"

	"parley.internal/shared/fault"
)

// Admin gives access to the documents of every user. It is for background work (sweeps, export and erasure) and must
// not be handed to code that serves a call.
type Admin struct{ db *DB }

// NewAdmin returns the administrator of a database.
func NewAdmin(db *DB) *Admin { return &Admin{db} }

// User returns access to the documents of one user.
func (a *Admin) User(uid string) *Tenant { return a.db.User(uid) }

// Located is a document with its reference.
type Located[T any] struct {
	Ref   Ref
	Value T
}

// QueryAll returns one page of the documents of all users. The query must match an index that the collection declares
// in AllUsers; otherwise the fault is Internal. next is the cursor of the next page, empty at the end. A cursor of
// another query is Invalid.
func (c Collection[T]) QueryAll(ctx context.Context, a *Admin, q Query) (docs []Located[T], next string, err error) {
	def := c.Def()
	if a.db.schema.by[def.Name] == nil {
		return nil, "", fault.New(fault.Internal, "store: collection %s is not in the schema", def.Name)
	}
	plan, err := q.plan(def, "", "", true)
	if err != nil {
		return nil, "", err
	}
	raws, err := a.db.driver.Query(ctx, plan)
	if err != nil {
		return nil, "", err
	}
	docs = make([]Located[T], len(raws))
	for i, raw := range raws {
		docs[i].Ref = raw.Ref
		if err := decode(raw.Fields, &docs[i].Value); err != nil {
			return nil, "", fault.Wrap(fault.Internal, err, "document %s/%s", raw.Ref.Coll, raw.Ref.ID)
		}
	}
	if len(raws) == plan.Limit {
		next = plan.cursor(raws[len(raws)-1])
	}
	return docs, next, nil
}
