package store

import (
	"reflect"
	"slices"
	"strings"

	"parley.internal/shared/fault"
)

// MaxLimit is the largest page.
const MaxLimit = 500

// maxAny is how many values ContainsAny and In take, and how many pairs the two
// together, as in Firestore.
const maxAny = 30

// Query asks for one page of a collection. It must match a declared index:
// its equalities are the index's first fields, its order the rest. Where several
// indexes end in the same order, their equalities add up.
type Query struct {
	Where []Cond
	// Order is fields as in an index, "rank desc"; between equals the id decides,
	// in the direction of the last field.
	Order []string
	// Limit is 1 to [MaxLimit].
	Limit int
	// Cursor is the Next of the page before, of the same query.
	Cursor string
}

// Test is how a [Cond] compares.
type Test int

// The tests. The ranges want their field in the query's order, and match
// values of the same type alone.
const (
	IsEqual Test = iota
	HasAny
	IsIn
	IsLess
	IsAtMost
	IsGreater
	IsAtLeast
)

// Cond is one condition of a query; all must hold.
type Cond struct {
	Field string
	Test  Test
	Value any
	Any   []any // for HasAny and IsIn
}

// Eq wants a field to have the value.
func Eq(field string, v any) Cond { return Cond{Field: field, Test: IsEqual, Value: v} }

// Contains wants an array to have the value.
func Contains(field string, v any) Cond { return Cond{Field: field, Test: HasAny, Any: []any{v}} }

// ContainsAny wants an array to have one of at most 30 values.
func ContainsAny[T any](field string, vs ...T) Cond {
	c := Cond{Field: field, Test: HasAny}
	for _, v := range vs {
		c.Any = append(c.Any, v)
	}
	return c
}

// In wants a field to have one of at most 30 values.
func In[T any](field string, vs ...T) Cond {
	c := ContainsAny(field, vs...)
	c.Test = IsIn
	return c
}

// Lt wants less than the value, Le at most, Gt more, Ge at least.
func Lt(field string, v any) Cond { return Cond{Field: field, Test: IsLess, Value: v} }

// Le wants at most the value.
func Le(field string, v any) Cond { return Cond{Field: field, Test: IsAtMost, Value: v} }

// Gt wants more than the value.
func Gt(field string, v any) Cond { return Cond{Field: field, Test: IsGreater, Value: v} }

// Ge wants at least the value.
func Ge(field string, v any) Cond { return Cond{Field: field, Test: IsAtLeast, Value: v} }

// Range says whether the condition bounds the order rather than naming values.
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
			return c, fault.New(fault.Internal, "store: ContainsAny and In take 1 to %d values, not %d", maxAny, len(seen))
		}
		c.Any = seen
		return c, nil
	}
	v, err := encodeAny(c.Value)
	c.Value = v
	return c, err
}

// encodeAny is the stored form of a value that a condition compares with.
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
		return nil, fault.New(fault.Internal, "store: a condition compares plain values, not %T", v)
	}
	return e, nil
}

func (q Query) plan(def *Def, user, coll string, group bool) (Plan, error) {
	p := Plan{User: user, Coll: coll, Def: def, Limit: q.Limit}
	if q.Limit < 1 || q.Limit > MaxLimit {
		return p, fault.New(fault.Internal, "store: a query has a limit of 1 to %d, not %d", MaxLimit, q.Limit)
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

// choose finds the indexes that serve the plan, or refuses it.
func (p *Plan) choose(group bool) error {
	var equal []Field
	arrays, ways := 0, 1
	for _, c := range p.Where {
		ways *= max(1, len(c.Any))
		switch {
		case c.Range():
			if !slices.ContainsFunc(p.Order, func(f Field) bool { return f.Path == c.Field }) {
				return p.refuse("a range wants its field in the order")
			}
		case c.Test == HasAny:
			arrays++
			equal = append(equal, Field{Path: c.Field, Array: true})
		default:
			equal = append(equal, Field{Path: c.Field})
		}
	}
	if arrays > 1 {
		return p.refuse("one query has one Contains")
	}
	if ways > maxAny {
		return p.refuse("its values make too many pairs")
	}
	if len(equal) == 0 && len(p.Order) == 0 && !group {
		return nil
	}
	missing := slices.Clone(equal)
	for len(missing) > 0 || p.Index == nil {
		x := p.best(equal, missing, group)
		if x == nil {
			return p.refuse("no declared index serves it")
		}
		if p.Index == nil {
			p.Index = x
		} else {
			p.Merge = append(p.Merge, x)
		}
		missing = slices.DeleteFunc(missing, func(f Field) bool { return slices.Contains(x.lead(len(p.Order)), f) })
	}
	// The array's index leads, so that the driver ranges over each value and
	// only looks up the others.
	for i, x := range p.Merge {
		if !x.MergeOnly && slices.ContainsFunc(x.Fields, func(f Field) bool { return f.Array }) {
			p.Index, p.Merge[i] = x, p.Index
		}
	}
	return nil
}

// lead is the index's fields before an order of n fields.
func (x *Index) lead(n int) []Field { return x.Fields[:len(x.Fields)-n] }

// best is the index of the plan's order that covers most of what is missing
// and wants nothing that the query does not name.
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

func (p *Plan) refuse(why string) error {
	var parts []string
	for _, c := range p.Where {
		if !c.Range() {
			parts = append(parts, Field{Path: c.Field, Array: c.Test == HasAny}.String())
		}
	}
	for _, f := range p.Order {
		parts = append(parts, f.String())
	}
	return fault.New(fault.Internal, "store: a query of %s by %q: %s", p.Def.Name, strings.Join(parts, ","), why)
}
