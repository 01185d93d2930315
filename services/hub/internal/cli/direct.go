package cli

import (
	"context"
	"fmt"
	"log/slog"

	"parley.internal/services/hub/internal/config"
	ways "parley.internal/shared/push/direct"
	"parley.internal/shared/push/webpush"
	"parley.internal/shared/signal"
)

// direct returns the sender to devices at addresses of their own. A server with the embedded store keeps its VAPID key
// there. Only a server on loopback alone calls addresses of its network.
func direct(ctx context.Context, c *config.Config, o *opened, log *slog.Logger) (*ways.Sender, error) {
	private := c.VAPIDKey
	if private == "" && c.Store == "sqlite" {
		var err error
		private, err = signal.VAPIDKey(ctx, o.db, func() (string, error) {
			k, err := webpush.NewKeys()
			return k.Private, err
		})
		if err != nil {
			return nil, fmt.Errorf("cannot keep the VAPID key: %w", err)
		}
	}
	var keys webpush.Keys
	if private != "" {
		var err error
		if keys, err = webpush.ParseKeys(private); err != nil {
			return nil, fmt.Errorf("PARLEY_VAPID_KEY: %w", err)
		}
	}
	return ways.New(ways.Options{Keys: keys, Contact: c.Contact, Private: c.Loopback(), Log: log}), nil
}
