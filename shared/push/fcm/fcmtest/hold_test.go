package fcmtest

import (
	"context"
	"testing"
)

func TestAHeldAnswerIsDroppedWhenItsClientDisconnects(t *testing.T) {
	t.Parallel()
	s := New(t)
	s.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if reply := s.respond(ctx, Message{Token: "a"}); reply != (Reply{}) {
		t.Errorf("%+v", reply)
	}
}
