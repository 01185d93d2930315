package campfire

import (
	"encoding/json"
	"testing"
)

// The document of a fire does not grow with its history.
func TestAFireStaysSmall(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		size := func() int {
			text, err := json.Marshal(k.kept())
			k.check(err)
			return len(text)
		}
		for range 11 {
			for _, step := range []func() error{k.throw, k.oath, k.strike, k.hold, k.rule} {
				k.check(step())
			}
			k.check(k.post("x"))
		}
		if n := size(); n > 150 {
			t.Errorf("%d bytes", n)
		}
	})
}

func TestDuelsArePagedNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		for range 6 {
			k.check(k.throw())
			k.check(k.abandon())
		}
		k.check(k.throw()) // The standing duel is not listed.
		var got []int64
		in := DuelsInput{FireID: here, Limit: 4}
		for range 5 {
			out, err := k.Duels(t.Context(), unbound, in)
			k.check(err)
			for _, e := range out.Duels {
				got = append(got, e.Number)
			}
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		if len(got) != 6 || got[0] != 6 || got[5] != 1 {
			t.Errorf("%v", got)
		}
		if out, err := k.Duels(t.Context(), unbound, DuelsInput{FireID: here}); err != nil || len(out.Duels) != 5 {
			t.Errorf("%d by default, %v", len(out.Duels), err)
		}
	})
}
