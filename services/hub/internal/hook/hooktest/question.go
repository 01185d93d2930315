package hooktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Answer sets the person's answer to every question.
func (h *Hub) Answer(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = text
	h.stirAll()
}

// stirAll ends the waits that hold now. The caller holds the hub.
func (h *Hub) stirAll() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// Asked returns the questions to the person, each with the assurance that it demands, and whether
// its answer comes as mail too.
func (h *Hub) Asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// Taken returns the reasons for which questions were taken back.
func (h *Hub) Taken() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.taken)
}

// question answers a call about the last question.
func (h *Hub) question(r *http.Request, body *json.Decoder) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/withdraw"):
		var in struct{ Reason string }
		_ = body.Decode(&in)
		if h.answer == "" && !h.gone {
			h.taken, h.gone = append(h.taken, in.Reason), true
			h.stirAll()
		}
	case r.Method == http.MethodPost:
		var in struct {
			Question, Assurance string
			Tell                *bool
		}
		_ = body.Decode(&in)
		h.asked, h.gone = append(h.asked, fmt.Sprintf("%s (%s, told %v)", in.Question, in.Assurance, in.Tell == nil || *in.Tell)), false
	default:
		h.awaitAnswer(r)
	}
	switch {
	case h.gone:
		return map[string]string{"questionId": "q", "status": "expired"}
	case h.answer != "":
		return map[string]string{"questionId": "q", "status": "answered", "response": h.answer, "answeredBy": "human"}
	}
	return map[string]string{"questionId": "q", "status": "pending"}
}

// awaitAnswer waits a while for the end of the question. The caller holds the hub, which is given up meanwhile.
func (h *Hub) awaitAnswer(r *http.Request) {
	for deadline, over := time.After(200*time.Millisecond), false; h.answer == "" && !h.gone && !over; {
		c := h.changed
		h.mu.Unlock()
		select {
		case <-c:
		case <-r.Context().Done():
			over = true
		case <-deadline:
			over = true
		}
		h.mu.Lock()
	}
}
