package firestore

import (
	"context"
	"slices"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"parley.internal/shared/store"
)

// userDataPage is the number of documents that one step reads or erases.
const userDataPage = 300

// descendants returns the request for a page of all documents below a user, ordered by name. It covers every
// collection, and Firestore serves it from its index of names.
func (d *Driver) descendants(user, after string) *firestorepb.RunQueryRequest {
	q := &firestorepb.StructuredQuery{
		From:    []*firestorepb.StructuredQuery_CollectionSelector{{AllDescendants: true}},
		OrderBy: orders(nil),
		Limit:   wrapperspb.Int32(userDataPage),
	}
	if after != "" {
		q.StartAt = &firestorepb.Cursor{Values: []*firestorepb.Value{reference(after)}}
	}
	return runQueryRequest(d.documents()+"/users/"+user, q)
}

// descendantsPage returns the page of documents below a user that follows the name after.
func (d *Driver) descendantsPage(ctx context.Context, user, after string) (raws []store.Raw, err error) {
	err = d.retryRead(ctx, func() error {
		raws, _, err = d.runQuery(ctx, d.descendants(user, after), view{})
		return err
	})
	return raws, d.toFault(ctx, err)
}

// Walk implements store.Driver.
func (d *Driver) Walk(ctx context.Context, user string, page func([]store.Raw) error) error {
	for after := ""; ; {
		raws, err := d.descendantsPage(ctx, user, after)
		if err != nil || len(raws) == 0 {
			return err
		}
		after = d.name(raws[len(raws)-1].Ref)
		// The index of texts repeats the texts of the documents.
		raws = slices.DeleteFunc(raws, func(r store.Raw) bool { return r.Ref.Coll == store.TextName })
		if err := page(raws); err != nil {
			return err
		}
	}
}

// Erase implements store.Driver.
func (d *Driver) Erase(ctx context.Context, user string) (total int, err error) {
	for {
		raws, err := d.descendantsPage(ctx, user, "")
		if err != nil || len(raws) == 0 {
			return total, err
		}
		writes := make([]store.Write, len(raws))
		found := 0
		for i, r := range raws {
			writes[i] = store.Write{Action: store.Delete, Ref: r.Ref}
			if r.Ref.Coll != store.TextName { // which Walk leaves out too
				found++
			}
		}
		err = d.Update(ctx, func(context.Context, store.Reads) ([]store.Write, error) { return writes, nil })
		if err != nil {
			return total, err
		}
		total += found
	}
}
