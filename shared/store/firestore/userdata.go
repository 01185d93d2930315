package firestore

import (
	"context"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"parley.internal/shared/store"
)

// userDataPage is the number of documents that are read, or erased, at once.
const userDataPage = 300

// descendants asks for what stands anywhere below a user, in the order of names: a query
// of every collection, which no index but the one of names serves.
func (d *Driver) descendants(user, after string) *firestorepb.RunQueryRequest {
	q := &firestorepb.StructuredQuery{
		From:    []*firestorepb.StructuredQuery_CollectionSelector{{AllDescendants: true}},
		OrderBy: []*firestorepb.StructuredQuery_Order{{Field: &firestorepb.StructuredQuery_FieldReference{FieldPath: "__name__"}, Direction: firestorepb.StructuredQuery_ASCENDING}},
		Limit:   wrapperspb.Int32(userDataPage),
	}
	if after != "" {
		q.StartAt = &firestorepb.Cursor{Values: []*firestorepb.Value{{ValueType: &firestorepb.Value_ReferenceValue{ReferenceValue: after}}}}
	}
	return &firestorepb.RunQueryRequest{Parent: d.documents() + "/users/" + user, QueryType: &firestorepb.RunQueryRequest_StructuredQuery{StructuredQuery: q}}
}

// below is a page of the documents below a user.
func (d *Driver) below(ctx context.Context, user, after string) (raws []store.Raw, err error) {
	err = d.again(ctx, func() error {
		raws, _, err = d.runQuery(ctx, d.descendants(user, after))
		return err
	})
	return raws, d.toFault(ctx, err)
}

// Walk implements store.Driver.
func (d *Driver) Walk(ctx context.Context, user string, page func([]store.Raw) error) error {
	for after := ""; ; {
		raws, err := d.below(ctx, user, after)
		if err != nil || len(raws) == 0 {
			return err
		}
		if err := page(raws); err != nil {
			return err
		}
		after = d.name(raws[len(raws)-1].Ref)
	}
}

// Erase implements store.Driver.
func (d *Driver) Erase(ctx context.Context, user string) (total int, err error) {
	for {
		raws, err := d.below(ctx, user, "")
		if err != nil || len(raws) == 0 {
			return total, err
		}
		writes := make([]store.Write, len(raws))
		for i, r := range raws {
			writes[i] = store.Write{Action: store.Delete, Ref: r.Ref}
		}
		err = d.Update(ctx, func(context.Context, store.Reads) ([]store.Write, error) { return writes, nil })
		if err != nil {
			return total, err
		}
		total += len(raws)
	}
}
