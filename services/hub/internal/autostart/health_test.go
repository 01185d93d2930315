package autostart_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/autostart"
)

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAServerThatStartsIsAskedUntilItIsWell(t *testing.T) {
	t.Parallel()
	const well = `{"success":true,"data":{"status":"ok","version":"v1"}}`
	for name, c := range map[string]struct {
		addr, url string
		answers   []string // each of one request, the last of all that follow; an empty one is a refused connection
		want      string
	}{
		"at once":            {"127.0.0.1:3001", "http://127.0.0.1:3001/v1/health", []string{well}, ""},
		"after a while":      {":3001", "http://127.0.0.1:3001/v1/health", []string{"", "", well}, ""},
		"on IPv6":            {"[::1]:3001", "http://[::1]:3001/v1/health", []string{"", well}, ""},
		"on every interface": {"0.0.0.0:80", "http://127.0.0.1:80/v1/health", []string{"{}", well}, ""},
		"never": {"127.0.0.1:3001", "http://127.0.0.1:3001/v1/health", []string{""},
			"does not answer at 127.0.0.1:3001 within 10s ("},
		"another program": {"127.0.0.1:3001", "http://127.0.0.1:3001/v1/health", []string{"<html>"},
			"which is not the health of a Parley server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, asked := time.Unix(0, 0), 0
			began := now
			w := autostart.Watch{Now: func() time.Time { return now },
				Pause: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil },
				Client: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					text := c.answers[min(asked, len(c.answers)-1)]
					asked++
					if r.URL.String() != c.url {
						t.Errorf("it asks %s, want %s", r.URL, c.url)
					}
					if text == "" {
						return nil, errors.New("connection refused")
					}
					return &http.Response{Status: "200 OK", StatusCode: 200, Body: io.NopCloser(strings.NewReader(text))}, nil
				})}}
			err := w.Answers(t.Context(), c.addr)
			if c.want == "" {
				if err != nil || asked != len(c.answers) {
					t.Errorf("got %v after %d requests, want %d", err, asked, len(c.answers))
				}
				return
			}
			if !errors.Is(err, autostart.ErrSilent) || !strings.Contains(err.Error(), c.want) ||
				now.Sub(began) != autostart.Patience {
				t.Errorf("got %v after %s, want %q", err, now.Sub(began), c.want)
			}
		})
	}
}

func TestAnInterruptEndsTheQuestionsForHealth(t *testing.T) {
	t.Parallel()
	w := autostart.Watch{Now: time.Now, Pause: func(context.Context, time.Duration) error { return context.Canceled },
		Client: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, io.EOF })}}
	if err := w.Answers(t.Context(), "127.0.0.1:3001"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
