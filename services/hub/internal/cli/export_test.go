package cli

import (
	"context"
	"net/http"
	"time"

	"parley.internal/shared/overview"
)

// What is drawn, without a terminal.
var (
	Clean, CleanJSON, Cut, Wrap, Table, Span = clean, cleanJSON, cut, wrap, table, span
	Draw, Describe                           = draw, describe
	BaseURL                                  = baseURL
)

// The screen of a live view.
const EnterScreen, LeaveScreen = enterScreen, leaveScreen

// Watch watches the server at a base as top does, with pauses that are the test's.
func Watch(ctx context.Context, base, mark string, pause func(context.Context, time.Duration) error, tell func(v overview.View, trouble string) error) error {
	h := &human{base: base, key: "k", from: "the test", variable: "KEY", http: &http.Client{}}
	return h.watch(ctx, mark, pause, func(n news) error { return tell(n.view, n.trouble) })
}
