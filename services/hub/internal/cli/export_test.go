package cli

import (
	"context"
	"io"
	"time"

	"parley.internal/services/hub/internal/autostart"
	"parley.internal/shared/overview"
)

// The functions that draw text.
var (
	Cut, Wrap, Table, Span = cut, wrap, table, span
	Draw, Describe         = draw, describe
)

// ShortIDs returns short forms of ids.
func ShortIDs(ids ...string) []string { return shortIDs(ids, func(id string) string { return id }) }

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

// StartService starts a service as the command service install does, with the test's service manager and clock.
func StartService(ctx context.Context, s *autostart.Service, ask autostart.Watch, dir, addr string, out io.Writer) error {
	return (&world{out: out}).startService(ctx, s, ask, dir, addr)
}
