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

// Shim is the handler that an emulator tells of changes. Close it after its server.
type Shim struct {
	// Target is the base URL of the functions, each at the path of its name.
	Target string
	// Log is told of each delivery that is not taken.
	Log *slog.Logger
	// Tries is how often an event is delivered, and Pause how long the second try waits; each further one waits twice
	// as long, up to 10 s. Zero is 8 tries and 250 ms.
	Tries int
	Pause time.Duration

	once sync.Once
	ctx  context.Context
	end  context.CancelFunc
	busy sync.WaitGroup
	room chan struct{}
}

const (
	maxPause = 10 * time.Second
	// deliverFor bounds one delivery; it is longer than a reaction takes.
	deliverFor = 70 * time.Second
	// atOnce is how many events are under way together.
	atOnce = 16
	// maxBody is more than two documents come to, as base64.
	maxBody = 4 << 20
)

func (s *Shim) begin() {
	s.once.Do(func() {
		s.ctx, s.end = context.WithCancel(context.Background())
		s.room = make(chan struct{}, atOnce)
		if s.Tries == 0 {
			s.Tries = 8
		}
		if s.Pause == 0 {
			s.Pause = 250 * time.Millisecond
		}
	})
}

// Close gives up what is still to be delivered, and waits until nothing is under way.
func (s *Shim) Close() {
	s.begin()
	s.end()
	s.busy.Wait()
}

// ServeHTTP takes an event of the emulator's, POST /functions/projects/P/triggers/NAME, and answers before it is
// delivered.
func (s *Shim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.begin()
	project, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/functions/projects/"), "/triggers/")
	if r.Method != http.MethodPost || !ok || project == "" || name == "" || strings.Contains(project+name, "/") {
		http.Error(w, "an event is POST /functions/projects/PROJECT/triggers/NAME", http.StatusNotFound)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		http.Error(w, "the body is not base64: "+err.Error(), http.StatusBadRequest)
		return
	}
	headers := http.Header{"Content-Type": r.Header["Content-Type"]}
	for key, values := range r.Header {
		if strings.HasPrefix(key, "Ce-") && key != "Ce-Datacontenttype" {
			headers[key] = values
		}
	}
	if s.ctx.Err() != nil {
		http.Error(w, "the server ends", http.StatusServiceUnavailable)
		return
	}
	s.busy.Go(func() { s.deliver(name, headers, body) })
	w.WriteHeader(http.StatusOK)
}

// deliver posts the event until it is taken, its tries are over or the shim is closed.
func (s *Shim) deliver(name string, headers http.Header, body []byte) {
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	case <-s.ctx.Done():
		return
	}
	pause := s.Pause
	for try := 1; ; try++ {
		err := s.post(name, headers, body)
		if err == nil || s.ctx.Err() != nil {
			return
		}
		s.Log.Warn("event not taken", "function", name, "event", headers.Get("Ce-Id"), "try", try, "tries", s.Tries,
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
	ctx, cancel := context.WithTimeout(s.ctx, deliverFor)
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
