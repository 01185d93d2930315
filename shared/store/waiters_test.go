package store

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"
)

// Every wait that is woken by a change today must be found by the change: the index of waiters and Match agree.
func TestAChangeFindsEveryWaiterWhoseConditionsItMeetsAndNoOther(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC)
	values := []any{nil, true, false, int64(0), math.Copysign(0, -1), int64(1), 1.0, 1.5, int64(1 << 53), float64(1 << 53),
		math.NaN(), -math.NaN(), at, at.In(time.FixedZone("x", 3600)), at.Add(time.Microsecond), "", "a", "ab", "\x00"}
	wheres := [][]Cond{nil, {Gt("a", int64(0))}, {Eq("a", int64(0)), Gt("b", "a")}}
	docs := []Fields{nil, {}, {"b": "a"}, {"a": []any{"a"}, "b": "x"}, {"a": Fields{"b": "a"}}, {"list": []any{}},
		{"list": []any{"a", []any{"a"}, "b"}, "a": "a"}, {"a": int64(0), "b": "b"}}
	for _, v := range values {
		wheres = append(wheres, []Cond{Eq("a", v)}, []Cond{Contains("list", v)}, []Cond{Eq("a.b", v)},
			[]Cond{Eq("a", "a"), Contains("list", v)}, []Cond{Contains("list", "a"), Eq("a", v)},
			[]Cond{In("a", v, any("a"), any(int64(7)))}, []Cond{ContainsAny("list", v, any("ab")), In("a", v, any("a"))})
		docs = append(docs, Fields{"a": v}, Fields{"list": []any{v, v}}, Fields{"a": Fields{"b": v}},
			Fields{"a": v, "list": []any{"a", v}}, Fields{"a": "a", "list": []any{v, "ab"}})
	}
	ws := newWaiters()
	all := make([]*waiter, len(wheres))
	for i, where := range wheres {
		all[i] = &waiter{where: where}
		ws.add(all[i])
	}
	check := func(there []*waiter) {
		t.Helper()
		for _, d := range docs {
			got := map[*waiter]bool{}
			ws.matching(d, func(wt *waiter) { got[wt] = true })
			want := map[*waiter]bool{}
			for _, wt := range there {
				if Match(wt.where, d) {
					want[wt] = true
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%#v is found by %s, want %s", d, show(got), show(want))
			}
		}
	}
	check(all)
	for _, wt := range all[:len(all)/2] {
		ws.remove(wt)
	}
	check(all[len(all)/2:])
	for _, wt := range all {
		ws.remove(wt)
	}
	if len(ws.all)+len(ws.shapes) > 0 {
		t.Errorf("%d waiters and %d shapes are kept after all have left", len(ws.all), len(ws.shapes))
	}
}

func show(set map[*waiter]bool) string {
	var out []string
	for wt := range set {
		out = append(out, fmt.Sprintf("%#v", wt.where))
	}
	slices.Sort(out)
	return fmt.Sprint(out)
}
