package store

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// waiters are the waiters of a listener, found by the values in their equalities: the cost of a change does not grow
// with the number of waiters that it does not concern.
type waiters struct {
	all    map[*waiter]struct{}
	shapes map[string]*shape
}

// shape holds the waiters whose equalities are on the same fields, in the same order, by the values of these.
type shape struct {
	fields []Cond // without their values
	by     map[string]map[*waiter]struct{}
}

func newWaiters() waiters { return waiters{all: map[*waiter]struct{}{}, shapes: map[string]*shape{}} }

func (ws waiters) add(wt *waiter) {
	ws.all[wt] = struct{}{}
	name, fields, keys := place(wt.where)
	s := ws.shapes[name]
	if s == nil {
		s = &shape{fields: fields, by: map[string]map[*waiter]struct{}{}}
		ws.shapes[name] = s
	}
	for _, k := range keys {
		if s.by[k] == nil {
			s.by[k] = map[*waiter]struct{}{}
		}
		s.by[k][wt] = struct{}{}
	}
}

func (ws waiters) remove(wt *waiter) {
	delete(ws.all, wt)
	name, _, keys := place(wt.where)
	s := ws.shapes[name]
	if s == nil {
		return
	}
	for _, k := range keys {
		if delete(s.by[k], wt); len(s.by[k]) == 0 {
			delete(s.by, k)
		}
	}
	if len(s.by) == 0 {
		delete(ws.shapes, name)
	}
}

// matching calls found for each waiter whose conditions the document meets, for some of them more than once.
func (ws waiters) matching(d Fields, found func(*waiter)) {
	for _, s := range ws.shapes {
		for _, k := range s.keys(d) {
			for wt := range s.by[k] {
				if Match(wt.where, d) {
					found(wt)
				}
			}
		}
	}
}

// place returns the shape of conditions and the keys under which their waiter is found. Ranges belong to neither.
func place(where []Cond) (name string, fields []Cond, keys []string) {
	var b strings.Builder
	keys = []string{""}
	for _, c := range where {
		if c.Range() {
			continue
		}
		array := c.Test == HasAny
		b.WriteString(Field{Path: c.Field, Array: array}.String() + "\x00")
		test, values := IsEqual, c.Any
		if array {
			test = HasAny
		}
		if c.Test == IsEqual {
			values = []any{c.Value}
		}
		fields = append(fields, Cond{Field: c.Field, Test: test})
		keys = extend(keys, values)
	}
	return b.String(), fields, keys
}

// keys returns the keys of all waiters of the shape whose equalities the document meets.
func (s *shape) keys(d Fields) []string {
	keys := []string{""}
	for _, f := range s.fields {
		v, ok := d.at(f.Field)
		if !ok {
			return nil
		}
		values := []any{v}
		if f.Test == HasAny {
			values, _ = v.([]any)
		}
		keys = extend(keys, values)
	}
	return keys
}

// extend returns each key with each value behind it. Two values have the same key if they compare as equal; arrays and
// maps have none, because they equal nothing.
func extend(keys []string, values []any) []string {
	out := make([]string, 0, len(keys)*len(values))
	for _, v := range values {
		part, ok := keyOf(v)
		if !ok {
			continue
		}
		for _, k := range keys {
			out = append(out, k+part)
		}
	}
	return out
}

// keyOf returns the type of a scalar, its length where that varies, and its value.
func keyOf(v any) (string, bool) {
	rank := rankOf(v)
	b := []byte{byte(rank)}
	switch x := v.(type) {
	case nil:
	case bool:
		if x {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	case int64, float64:
		n := number(x)
		if math.IsNaN(n) { // equals every other one
			n = math.NaN()
		}
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(n+0)) // -0 equals 0
	case time.Time:
		b = binary.BigEndian.AppendUint64(b, uint64(x.Unix()))
		b = binary.BigEndian.AppendUint32(b, uint32(x.Nanosecond()))
	case string:
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(x))), x...)
	default:
		return "", false
	}
	return string(b), true
}
