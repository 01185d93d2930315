package firestore

import (
	"slices"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

const nameField = "__name__"

func (d *Driver) queryRequest(plan store.Plan) (*firestorepb.RunQueryRequest, error) {
	parent := d.documents()
	from := &firestorepb.StructuredQuery_CollectionSelector{CollectionId: plan.Def.ID(), AllDescendants: true}
	if plan.User != "" {
		name, id := d.parent(plan.User, plan.Coll)
		parent, from = name, &firestorepb.StructuredQuery_CollectionSelector{CollectionId: id}
	}
	conds := plan.Where
	if plan.User == "" {
		conds = append(slices.Clip(conds), inAnyShard())
	}
	where, err := filters(conds)
	if err != nil {
		return nil, err
	}
	q := &firestorepb.StructuredQuery{
		From:    []*firestorepb.StructuredQuery_CollectionSelector{from},
		Where:   where,
		Limit:   wrapperspb.Int32(int32(plan.Limit)),
		OrderBy: orders(plan.Order),
	}
	if plan.After != nil {
		if q.StartAt, err = d.cursor(plan.After); err != nil {
			return nil, err
		}
	}
	return runQueryRequest(parent, q), nil
}

func runQueryRequest(parent string, q *firestorepb.StructuredQuery) *firestorepb.RunQueryRequest {
	return &firestorepb.RunQueryRequest{
		Parent:    parent,
		QueryType: &firestorepb.RunQueryRequest_StructuredQuery{StructuredQuery: q},
	}
}

func orders(order []store.Field) []*firestorepb.StructuredQuery_Order {
	out := make([]*firestorepb.StructuredQuery_Order, 0, len(order)+1)
	for _, f := range order {
		out = append(out, &firestorepb.StructuredQuery_Order{Field: field(f.Path), Direction: direction(f.Desc)})
	}
	return append(out, &firestorepb.StructuredQuery_Order{
		Field: field(nameField), Direction: direction(tiesDescend(order)),
	})
}

// tiesDescend reports whether equal documents are ordered by descending id. The direction is that of the last field,
// because an index ends so.
func tiesDescend(order []store.Field) bool { return len(order) > 0 && order[len(order)-1].Desc }

func direction(desc bool) firestorepb.StructuredQuery_Direction {
	if desc {
		return firestorepb.StructuredQuery_DESCENDING
	}
	return firestorepb.StructuredQuery_ASCENDING
}

func field(path string) *firestorepb.StructuredQuery_FieldReference {
	return &firestorepb.StructuredQuery_FieldReference{FieldPath: path}
}

// cursor returns the cursor just after a position in the order.
func (d *Driver) cursor(after *store.Position) (*firestorepb.Cursor, error) {
	c := &firestorepb.Cursor{}
	for _, v := range after.Values {
		e, err := encodeValue(v)
		if err != nil {
			return nil, err
		}
		c.Values = append(c.Values, e)
	}
	c.Values = append(c.Values, reference(d.name(after.Ref)))
	return c, nil
}

// reference returns the value that refers to a document by its full name.
func reference(name string) *firestorepb.Value {
	return &firestorepb.Value{ValueType: &firestorepb.Value_ReferenceValue{ReferenceValue: name}}
}

func filters(where []store.Cond) (*firestorepb.StructuredQuery_Filter, error) {
	all := make([]*firestorepb.StructuredQuery_Filter, 0, len(where))
	for _, c := range where {
		f, err := filter(c)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0], nil
	}
	return &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_CompositeFilter{
		CompositeFilter: &firestorepb.StructuredQuery_CompositeFilter{
			Op: firestorepb.StructuredQuery_CompositeFilter_AND, Filters: all,
		},
	}}, nil
}

var operators = map[store.Test]firestorepb.StructuredQuery_FieldFilter_Operator{
	store.IsEqual:   firestorepb.StructuredQuery_FieldFilter_EQUAL,
	store.HasAny:    firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS,
	store.IsIn:      firestorepb.StructuredQuery_FieldFilter_IN,
	store.IsLess:    firestorepb.StructuredQuery_FieldFilter_LESS_THAN,
	store.IsAtMost:  firestorepb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL,
	store.IsGreater: firestorepb.StructuredQuery_FieldFilter_GREATER_THAN,
	store.IsAtLeast: firestorepb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL,
}

func filter(c store.Cond) (*firestorepb.StructuredQuery_Filter, error) {
	if c.Test == store.IsEqual && c.Value == nil {
		return &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_UnaryFilter{
			UnaryFilter: &firestorepb.StructuredQuery_UnaryFilter{
				Op:          firestorepb.StructuredQuery_UnaryFilter_IS_NULL,
				OperandType: &firestorepb.StructuredQuery_UnaryFilter_Field{Field: field(c.Field)},
			},
		}}, nil
	}
	op, known := operators[c.Test]
	if !known {
		return nil, fault.New(fault.Internal, "firestore: unknown test %d", c.Test)
	}
	value := c.Value
	switch {
	case c.Test == store.IsIn:
		value = c.Any
	case c.Test == store.HasAny && len(c.Any) > 1:
		op, value = firestorepb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY, c.Any
	case c.Test == store.HasAny:
		value = c.Any[0]
	}
	v, err := encodeValue(value)
	if err != nil {
		return nil, err
	}
	return &firestorepb.StructuredQuery_Filter{FilterType: &firestorepb.StructuredQuery_Filter_FieldFilter{
		FieldFilter: &firestorepb.StructuredQuery_FieldFilter{Field: field(c.Field), Op: op, Value: v},
	}}, nil
}
