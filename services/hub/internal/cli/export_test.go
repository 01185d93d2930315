package cli

import (
	"context"
	"time"

	"parley.internal/shared/overview"
)

// The functions that draw text.
var (
	Cut, Wrap, Table, Span = cut, wrap, table, span
	Draw, Describe         = draw, describe
)

// The escape sequences of a live view.
const EnterScreen, LeaveScreen = enterScreen, leaveScreen

// Watch watches the server at a base URL as the command top does, with the test's pauses.
func Watch(ctx context.Context, base, mark string, pause func(context.Context, time.Duration) error,
	tell func(v overview.View, trouble string) error) error {
	h := &human{key: "k", from: "the test", variable: "KEY"}
	if err := h.dial(base); err != nil {
		return err
	}
	return h.watch(ctx, mark, pause, func(n update) error { return tell(n.view, n.trouble) })
}
