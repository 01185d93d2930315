package autostart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// ErrSilent means that a service was started and that its server does not answer.
var ErrSilent = errors.New("the service was started, but its server does not answer")

// Patience is the time that a server has to answer after its start.
const Patience = 10 * time.Second

// between is the pause between two questions.
const between = 100 * time.Millisecond

// Watch asks a server for its health. Its fields are parameters so that tests need no time.
type Watch struct {
	Client *http.Client
	Now    func() time.Time
	// Pause waits, or returns the error of ctx if that ends before.
	Pause func(ctx context.Context, d time.Duration) error
}

// Answers returns once the server at a host and port answers that it is well. After [Patience] the error wraps
// [ErrSilent] and holds the last trouble.
func (w Watch) Answers(ctx context.Context, addr string) error {
	url, err := healthAt(addr)
	if err != nil {
		return err
	}
	for deadline := w.Now().Add(Patience); ; {
		_, trouble := w.ask(ctx, url)
		if trouble == nil {
			return nil
		}
		if !w.Now().Before(deadline) {
			return fmt.Errorf("%w at %s within %s (%w)", ErrSilent, addr, Patience, trouble)
		}
		if err := w.Pause(ctx, between); err != nil {
			return err
		}
	}
}

// Health asks the server at a host and port once, and returns its version.
func (w Watch) Health(ctx context.Context, addr string) (version string, err error) {
	url, err := healthAt(addr)
	if err != nil {
		return "", err
	}
	return w.ask(ctx, url)
}

// healthAt returns the URL at which the server at a host and port tells its health.
func healthAt(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/v1/health", nil
}

// ask asks once.
func (w Watch) ask(ctx context.Context, url string) (version string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := w.Client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var a struct {
		Success bool
		Data    struct{ Status, Version string }
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 4096)).Decode(&a); err != nil || !a.Success || a.Data.Status != "ok" {
		return "", fmt.Errorf("%s answers %s, which is not the health of a Parley server", url, res.Status)
	}
	return a.Data.Version, nil
}
