package store

import (
	"context"

	"parley.internal/shared/fault"
)

// Admin reaches every user's documents. It is for sweeps: handed to the
// functions and the laptop's loop, and to nothing that serves a call.
type Admin struct{ db *DB }

// NewAdmin is the administrator of a database.
func NewAdmin(db *DB) *Admin { return &Admin{db} }

// User is one user's documents.
func (a *Admin) User(uid string) *Tenant { return a.db.User(uid) }

// Located is a document with where it stands.
type Located[T any] struct {
	Ref   Ref
	Value T
}

// QueryAll reads one page over all users, by an index that the collection
// declares in AllUsers.
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
