package store

import (
	"cmp"
	"slices"
	"time"
)

// rankOf returns the place of a value's type in Firestore's order of types.
func rankOf(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case bool:
		return 1
	case int64, float64:
		return 2
	case time.Time:
		return 3
	case string:
		return 4
	}
	return 5
}

func number(v any) float64 {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	return v.(float64)
}

// Compare orders two scalar values as Firestore does: by type, then by value. It returns -1, 0 or +1. Arrays and maps
// compare as equal.
func Compare(a, b any) int {
	ra, rb := rankOf(a), rankOf(b)
	if ra != rb {
		return cmp.Compare(ra, rb)
	}
	switch x := a.(type) {
	case bool:
		y := b.(bool)
		switch {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	case int64, float64:
		return cmp.Compare(number(a), number(b))
	case time.Time:
		return x.Compare(b.(time.Time))
	case string:
		return cmp.Compare(x, b.(string))
	}
	return 0
}

// Match reports whether the document meets the condition. A missing field meets none.
func (c Cond) Match(d Fields) bool {
	v, ok := d.at(c.Field)
	if !ok {
		return false
	}
	switch c.Test {
	case HasAny:
		list, _ := v.([]any)
		return slices.ContainsFunc(list, func(e any) bool {
			return slices.ContainsFunc(c.Any, func(w any) bool { return rankOf(e) == rankOf(w) && Compare(e, w) == 0 })
		})
	case IsIn:
		return slices.ContainsFunc(c.Any, func(w any) bool {
			return rankOf(v) == rankOf(w) && rankOf(v) < 5 && Compare(v, w) == 0
		})
	case IsEqual:
		return rankOf(v) == rankOf(c.Value) && rankOf(v) < 5 && Compare(v, c.Value) == 0
	}
	if rankOf(v) != rankOf(c.Value) || rankOf(v) == 5 {
		return false
	}
	n := Compare(v, c.Value)
	switch c.Test {
	case IsLess:
		return n < 0
	case IsAtMost:
		return n <= 0
	case IsGreater:
		return n > 0
	}
	return n >= 0
}

// Match reports whether the document meets every condition.
func Match(where []Cond, d Fields) bool {
	for _, c := range where {
		if !c.Match(d) {
			return false
		}
	}
	return true
}
