package shim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"parley.internal/functions/internal/event"
	"parley.internal/shared/app"
)

// Register registers a trigger with the emulator at addr, a host:port, for each reaction, under the reaction's name.
// The triggers report the changes of the project's documents.
func Register(ctx context.Context, addr, project string, reactions []app.Reaction) error {
	for _, r := range reactions {
		body, err := json.Marshal(map[string]any{"eventType": event.Type(r.Kind), "database": "(default)",
			"namespace": "(default)",
			"document": map[string]string{"value": "users/{uid}/" + r.Collection + "/{id}",
				"matchType": "PATH_PATTERN"}})
		if err != nil {
			return err
		}
		to := "http://" + addr + "/emulator/v1/projects/" + url.PathEscape(project) +
			"/eventarcTrigger?eventarcTriggerId=" + url.QueryEscape(r.Name)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
		if err != nil {
			return err
		}
		// Without this header the emulator answers 404.
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return fmt.Errorf("cannot register %s: %w", r.Name, err)
		}
		answer, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("cannot register %s: the emulator answers %s: %s", r.Name, res.Status, answer)
		}
	}
	return nil
}
