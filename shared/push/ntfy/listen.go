package ntfy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"parley.internal/shared/push"
	"parley.internal/shared/push/outbound"
)

// Reply is a message on a reply topic.
type Reply struct {
	// ID is the position of the message in the topic.
	ID   string
	Text string
}

const (
	// silence is the time without a sign of the server after which a connection counts as lost. The server sends one
	// every 45 seconds.
	silence = 2 * time.Minute
	// maxLine is the maximum length of a message of the server, in bytes.
	maxLine = 64 << 10
)

var errSilence = errors.New("the ntfy server went silent")

// Listen calls each for every message of the device's reply topic after the one with the ID since, or for all that the
// server keeps if it is empty, and waits for more until ctx ends, each returns an error, or the connection is lost. It
// always returns an error, without the address.
func (c *Courier) Listen(ctx context.Context, t push.Target, since string, each func(Reply) error) error {
	if since == "" {
		since = "all"
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := request(ctx, http.MethodGet, t.Reply+"/json?since="+url.QueryEscape(since), t.Token, nil)
	if err != nil {
		return errors.New("the reply topic is malformed: register the device again")
	}
	watchdog := time.AfterFunc(silence, func() { cancel(errSilence) })
	defer watchdog.Stop()
	resp, err := c.Client.Do(r)
	if err != nil {
		return errors.New(outbound.Failure(err).Reason)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the ntfy server answers with status %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		watchdog.Reset(silence)
		var m struct {
			ID, Event, Message string
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return errors.New("the ntfy server's answer is not that of a topic")
		}
		if m.Event == "message" {
			if err := each(Reply{ID: m.ID, Text: m.Message}); err != nil {
				return err
			}
		}
	}
	switch err := lines.Err(); {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the connection to the ntfy server was lost: %w", err)
	}
	return errors.New("the ntfy server closed the connection")
}
