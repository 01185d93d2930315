package store

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"parley.internal/shared/fault"
)

// MaxLimit is the largest page, in documents.
const MaxLimit = 500

// maxAny is Firestore's maximum number of values of a ContainsAny or an In, and of their combinations in one query.
const maxAny = 30

// Query asks for one page of a collection. It must match a declared index: its equalities are the first fields of the
// index, its order the rest. Equalities may be spread over several indexes that end in the same order.
type Query struct {
	Where []Cond
	// Order lists fields as in an index, such as "rank desc". Equal documents are ordered by id, in the direction of
	// the last field.
	Order []string
	// Limit is the size of the page, 1 to [MaxLimit].
	Limit int
	// Cursor is the Next of the previous page of the same query, empty for the first page.
	Cursor string
}

// Test is the comparison of a [Cond].
type Test int

// The tests. A range (IsLess to IsAtLeast) requires its field in the query's order, and matches only values of the same
// type.
const (
	IsEqual Test = iota
	HasAny
	IsIn
	IsLess
	IsAtMost
	IsGreater
	IsAtLeast
)

// Cond is one condition of a query. A document must meet all of them.
type Cond struct {
	Field string
	Test  Test
	Value any
	Any   []any // for HasAny and IsIn
}

// Eq requires a field to equal the value.
func Eq(field string, v any) Cond { return Cond{Field: field, Test: IsEqual, Value: v} }

// Contains requires an array to contain the value.
func Contains(field string, v any) Cond { return Cond{Field: field, Test: HasAny, Any: []any{v}} }

// ContainsAny requires an array to contain at least one of 1 to 30 values.
func ContainsAny[T any](field string, vs ...T) Cond {
	c := Cond{Field: field, Test: HasAny}
	for _, v := range vs {
		c.Any = append(c.Any, v)
	}
	return c
}

// In requires a field to equal one of 1 to 30 values.
func In[T any](field string, vs ...T) Cond {
	c := ContainsAny(field, vs...)
	c.Test = IsIn
	return c
}

// Lt requires a field to be less than the value.
func Lt(field string, v any) Cond { return Cond{Field: field, Test: IsLess, Value: v} }

// Le requires a field to be at most the value.
func Le(field string, v any) Cond { return Cond{Field: field, Test: IsAtMost, Value: v} }

// Gt requires a field to be greater than the value.
func Gt(field string, v any) Cond { return Cond{Field: field, Test: IsGreater, Value: v} }

// Ge requires a field to be at least the value.
func Ge(field string, v any) Cond { return Cond{Field: field, Test: IsAtLeast, Value: v} }

// Range reports whether the condition is a range.
func (c Cond) Range() bool { return c.Test >= IsLess }

func (c Cond) encoded() (Cond, error) {
	if c.Test == HasAny || c.Test == IsIn {
		seen := make([]any, 0, len(c.Any))
		for _, v := range c.Any {
			e, err := encodeAny(v)
			if err != nil {
				return c, err
			}
			if !slices.Contains(seen, e) {
				seen = append(seen, e)
			}
		}
		if len(seen) == 0 || len(seen) > maxAny {
			return c, fault.New(fault.Internal, "store: ContainsAny and In must have 1 to %d values, not %d", maxAny, len(seen))
		}
		c.Any = seen
		return c, nil
	}
	v, err := encodeAny(c.Value)
	c.Value = v
	return c, err
}

// encodeAny returns the stored form of a condition's value.
func encodeAny(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	e, err := encodeValue(reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	switch e.(type) {
	case []any, Fields:
		return nil, fault.New(fault.Internal, "store: a condition must compare scalar values, not %T", v)
	}
	return e, nil
}

func (q Query) plan(def *Def, user, coll string, group bool) (Plan, error) {
	p := Plan{User: user, Coll: coll, Def: def, Limit: q.Limit}
	if q.Limit < 1 || q.Limit > MaxLimit {
		return p, fault.New(fault.Internal, "store: the limit of a query must be 1 to %d, not %d", MaxLimit, q.Limit)
	}
	for _, o := range q.Order {
		f, err := parseField(o)
		if err != nil || f.Array {
			return p, fault.New(fault.Internal, "store: cannot order by %q", o)
		}
		p.Order = append(p.Order, f)
	}
	for _, c := range q.Where {
		c, err := c.encoded()
		if err != nil {
			return p, err
		}
		p.Where = append(p.Where, c)
	}
	if err := p.choose(group); err != nil {
		return p, err
	}
	if q.Cursor != "" {
		pos, err := p.position(q.Cursor)
		if err != nil {
			return p, err
		}
		p.After = pos
	}
	return p, nil
}

// choose selects the indexes that serve the plan. It returns an Internal fault if there are none.
func (p *Plan) choose(group bool) error {
	var equal []Field
	arrays, ways := 0, 1
	for _, c := range p.Where {
		ways *= max(1, len(c.Any))
		switch {
		case c.Range():
			if !slices.ContainsFunc(p.Order, func(f Field) bool { return f.Path == c.Field }) {
				return p.refuse("the field of a range must be in the order")
			}
		case c.Test == HasAny:
			arrays++
			equal = append(equal, Field{Path: c.Field, Array: true})
		default:
			equal = append(equal, Field{Path: c.Field})
		}
	}
	if arrays > 1 {
		return p.refuse("there must be at most one Contains")
	}
	if ways > maxAny {
		return p.refuse("the values must have at most " + strconv.Itoa(maxAny) + " combinations")
	}
	if len(equal) == 0 && len(p.Order) == 0 && !group {
		return nil
	}
	missing := slices.Clone(equal)
	for len(missing) > 0 || p.Index == nil {
		x := p.best(equal, missing, group)
		if x == nil {
			return p.refuse("no declared index serves the query")
		}
		if p.Index == nil {
			p.Index = x
		} else {
			p.Merge = append(p.Merge, x)
		}
		missing = slices.DeleteFunc(missing, func(f Field) bool { return slices.Contains(x.leading(len(p.Order)), f) })
	}
	// The index of the array comes first, so that the driver ranges over it once for each value and only looks up
	// the others.
	for i, x := range p.Merge {
		if !x.MergeOnly && slices.ContainsFunc(x.Fields, func(f Field) bool { return f.Array }) {
			p.Index, p.Merge[i] = x, p.Index
		}
	}
	return nil
}

// leading returns the fields of the index before an order of n fields.
func (x *Index) leading(n int) []Field { return x.Fields[:len(x.Fields)-n] }

// best returns the index of the plan's order that covers the most missing equalities and has no field that the query
// lacks, nil if there is none.
func (p *Plan) best(equal, missing []Field, group bool) *Index {
	var best *Index
	covers := 0
	for _, x := range p.Def.Indexes {
		n := len(x.Fields) - len(p.Order)
		if x.Group != group || (x.MergeOnly && p.Index == nil) || n < 0 || !slices.Equal(x.Fields[n:], p.Order) {
			continue
		}
		gain, usable := 0, true
		for _, f := range x.Fields[:n] {
			usable = usable && slices.Contains(equal, f)
			if slices.Contains(missing, f) {
				gain++
			}
		}
		if usable && (gain > covers || (n == 0 && len(equal) == 0)) {
			best, covers = x, gain
		}
	}
	return best
}

func (p *Plan) refuse(reason string) error {
	var parts []string
	for _, c := range p.Where {
		if !c.Range() {
			parts = append(parts, Field{Path: c.Field, Array: c.Test == HasAny}.String())
		}
	}
	for _, f := range p.Order {
		parts = append(parts, f.String())
	}
	return fault.New(fault.Internal, "store: a query of %s by %q: %s", p.Def.Name, strings.Join(parts, ","), reason)
}
