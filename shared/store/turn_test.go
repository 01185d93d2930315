package store

import (
	"context"
	"testing"

	"parley.internal/shared/fault"
)

func TestATransactionWaitsForThoseOfItsUserAndNameAlone(t *testing.T) {
	t.Parallel()
	var ts turns
	in := InTurn(t.Context(), "x")
	leave, err := ts.wait(in, "u")
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]struct {
		ctx  context.Context
		user string
	}{"another name": {InTurn(t.Context(), "y"), "u"}, "another user": {in, "v"}, "no name": {t.Context(), "u"}} {
		leave, err := ts.wait(other.ctx, other.user)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		leave()
	}
	gone, cancel := context.WithCancel(in)
	cancel()
	if _, err := ts.wait(gone, "u"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("one whose caller has left: %v", err)
	}
	leave()
	if leave, err = ts.wait(in, "u"); err != nil {
		t.Fatal(err)
	}
	leave()
	if len(ts.by) > 0 {
		t.Errorf("%d turns are kept", len(ts.by))
	}
}
