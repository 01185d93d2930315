package cli

import (
	"context"
	"time"

	"parley.internal/shared/overview"
)

// What is drawn, without a terminal.
var (
	Clean, CleanJSON, Cut, Wrap, Table, Span = clean, cleanJSON, cut, wrap, table, span
	Draw, Describe                           = draw, describe
)

// The screen of a live view.
const EnterScreen, LeaveScreen = enterScreen, leaveScreen

// Watch watches the server at a base as top does, with pauses that are the test's.
func Watch(ctx context.Context, base, mark string, pause func(context.Context, time.Duration) error,
	tell func(v overview.View, trouble string) error) error {
	h := &human{key: "k", from: "the test", variable: "KEY"}
	if err := h.dial(base); err != nil {
		return err
	}
	return h.watch(ctx, mark, pause, func(n news) error { return tell(n.view, n.trouble) })
}
