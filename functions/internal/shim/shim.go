package shim

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Shim is the handler for the emulator's events. Close it after its server.
type Shim struct {
	// Target is the base URL of the functions, each at the path of its name.
	Target string
	// Log receives each failed delivery.
	Log *slog.Logger
	// Tries is the maximum number of deliveries of an event; 0 means 8. Pause is the time before the second delivery;
	// it doubles for each further one, up to 10 seconds; 0 means 250 ms.
	Tries int
	Pause time.Duration

	once       sync.Once
	ctx        context.Context
	end        context.CancelFunc
	deliveries sync.WaitGroup
	slots      chan struct{}
}

const (
	maxPause = 10 * time.Second
	// deliveryTimeout bounds one delivery. It is longer than a reaction takes.
	deliveryTimeout = 70 * time.Second
	// maxConcurrent is the maximum number of events in flight.
	maxConcurrent = 16
	// maxBody is more than the size of two documents in base64, in bytes.
	maxBody = 4 << 20
)

func (s *Shim) begin() {
	s.once.Do(func() {
		s.ctx, s.end = context.WithCancel(context.Background())
		s.slots = make(chan struct{}, maxConcurrent)
		if s.Tries == 0 {
			s.Tries = 8
		}
		if s.Pause == 0 {
			s.Pause = 250 * time.Millisecond
		}
	})
}

// Close drops the events that are not delivered yet and waits for the deliveries in flight.
func (s *Shim) Close() {
	s.begin()
	s.end()
	s.deliveries.Wait()
}

// ServeHTTP accepts an event of the emulator, POST /functions/projects/P/triggers/NAME, and answers before the event is
// delivered.
func (s *Shim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.begin()
	project, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/functions/projects/"), "/triggers/")
	if r.Method != http.MethodPost || !ok || project == "" || name == "" || strings.Contains(project+name, "/") {
		http.Error(w, "an event must be a POST to /functions/projects/PROJECT/triggers/NAME", http.StatusNotFound)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		http.Error(w, "the body must be base64: "+err.Error(), http.StatusBadRequest)
		return
	}
	headers := http.Header{"Content-Type": r.Header["Content-Type"]}
	for key, values := range r.Header {
		if strings.HasPrefix(key, "Ce-") && key != "Ce-Datacontenttype" {
			headers[key] = values
		}
	}
	if s.ctx.Err() != nil {
		http.Error(w, "the server is shutting down", http.StatusServiceUnavailable)
		return
	}
	s.deliveries.Go(func() { s.deliver(name, headers, body) })
	w.WriteHeader(http.StatusOK)
}

// deliver posts the event until it is accepted, its tries are used up or the shim is closed.
func (s *Shim) deliver(name string, headers http.Header, body []byte) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.ctx.Done():
		return
	}
	pause := s.Pause
	for try := 1; ; try++ {
		err := s.post(name, headers, body)
		if err == nil || s.ctx.Err() != nil {
			return
		}
		s.Log.Warn("event not accepted", "function", name, "event", headers.Get("Ce-Id"), "try", try, "tries", s.Tries,
			"cause", err.Error())
		if try == s.Tries {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, maxPause)
	}
}

func (s *Shim) post(name string, headers http.Header, body []byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, deliveryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Target+"/"+name, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = headers.Clone()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("%s answers %s", name, res.Status)
	}
	return nil
}
