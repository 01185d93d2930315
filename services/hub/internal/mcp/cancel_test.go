package mcp

import (
	"encoding/json"
	"fmt"
	"testing"

	"parley.internal/shared/identity"
)

func TestACancellationThatOvertookItsCallEndsIt(t *testing.T) {
	t.Parallel()
	ended := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	var w waiting
	own, other := identity.Caller{User: "u", KeyID: "k"}, identity.Caller{User: "u", KeyID: "l"}
	w.end(own, "n7")
	for _, c := range []struct {
		by   identity.Caller
		id   string
		want bool
	}{{other, "7", false}, {own, `"7"`, false}, {own, "7", true}, {own, "7", false}} {
		ch, done := w.add(c.by, json.RawMessage(c.id))
		if got := ended(ch); got != c.want {
			t.Errorf("the call %s of %s is ended: %v, want %v", c.id, c.by.KeyID, got, c.want)
		}
		done()
	}
	if len(w.calls) != 0 || len(w.early) != 0 {
		t.Errorf("left are %v and %v", w.calls, w.early)
	}
	for i := range 2 * maxEarly {
		w.end(own, fmt.Sprint("n", i))
	}
	if len(w.early) != maxEarly {
		t.Errorf("%d cancellations are kept", len(w.early))
	}
}
