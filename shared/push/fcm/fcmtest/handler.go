package fcmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Handler answers POST /v1/projects/{project}/messages:send as FCM does. The zero value takes every message that FCM
// would.
type Handler struct {
	// OnMessage is called with each message that is to ring, in the order of their coming, one at a time, and before it
	// is answered. Nil is no call.
	OnMessage func(Message)
	// Respond says what a message is answered, dry runs included; it may wait, until ctx is ended because the client
	// went. Nil takes everything.
	Respond func(ctx context.Context, m Message) Reply

	mu sync.Mutex
	n  int
}

// Reply is an answer. The zero value takes the message.
type Reply struct {
	// Status is the HTTP status; zero is 200.
	Status int
	// Code is FCM's own name of the error, as UNREGISTERED; empty for an error that has none, as when a credential is
	// refused.
	Code string
	// Message is the text of the error; empty is one that FCM is known to give.
	Message string
	// Body is the whole answer in place of the one made from the others.
	Body string
}

// maxBody is more than any message within the limits comes to.
const maxBody = 1 << 20

// ServeHTTP answers one call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, isV1 := strings.CutPrefix(r.URL.Path, "/v1/projects/")
	project, isSend := strings.CutSuffix(path, "/messages:send")
	if r.Method != http.MethodPost || !isV1 || !isSend || project == "" || strings.Contains(project, "/") {
		write(w, Reply{Status: http.StatusNotFound, Message: "Not found."}, "")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		write(w, Reply{Status: http.StatusBadRequest, Message: err.Error()}, "message")
		return
	}
	m, err := decode(project, body)
	if err != nil {
		write(w, Reply{Status: http.StatusBadRequest, Message: "Invalid value: " + err.Error()}, "message")
		return
	}
	name := h.take(m)
	reply := Reply{}
	if h.Respond != nil {
		reply = h.Respond(r.Context(), m)
	}
	field := ""
	if reply == (Reply{}) {
		if field, reply.Message = m.problem(); reply.Message != "" {
			reply.Status, reply.Code = http.StatusBadRequest, "INVALID_ARGUMENT"
		}
	}
	if reply.Status == 0 && reply.Body == "" {
		reply = Reply{Status: http.StatusOK, Body: fmt.Sprintf(`{"name":%q}`, name)}
	}
	write(w, reply, field)
}

// take hands the message on and names it.
func (h *Handler) take(m Message) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	if h.OnMessage != nil && !m.ValidateOnly {
		h.OnMessage(m)
	}
	return fmt.Sprintf("projects/%s/messages/%d", m.Project, h.n)
}

var statuses = map[int]string{
	http.StatusBadRequest:         "INVALID_ARGUMENT",
	http.StatusUnauthorized:       "UNAUTHENTICATED",
	http.StatusForbidden:          "PERMISSION_DENIED",
	http.StatusNotFound:           "NOT_FOUND",
	http.StatusTooManyRequests:    "RESOURCE_EXHAUSTED",
	http.StatusServiceUnavailable: "UNAVAILABLE",
}

var messages = map[string]string{
	"INVALID_ARGUMENT":       "The registration token is not a valid FCM registration token",
	"UNREGISTERED":           "Requested entity was not found.",
	"SENDER_ID_MISMATCH":     "SenderId mismatch",
	"THIRD_PARTY_AUTH_ERROR": "Auth error from APNS or Web Push Service",
	"UNAVAILABLE":            "The service is currently unavailable.",
}

// write sends the reply; a field that is named is what it is about.
func write(w http.ResponseWriter, r Reply, field string) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	if r.Message == "" {
		r.Message = messages[r.Code]
	}
	if r.Body == "" {
		status := statuses[r.Status]
		if status == "" {
			status = "INTERNAL"
		}
		details := []any{}
		if r.Code != "" {
			details = append(details, map[string]any{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
				"errorCode": r.Code})
		}
		if field != "" {
			details = append(details, map[string]any{"@type": "type.googleapis.com/google.rpc.BadRequest",
				"fieldViolations": []any{map[string]any{"field": field, "description": r.Message}}})
		}
		b, err := json.Marshal(map[string]any{"error": map[string]any{"code": r.Status, "message": r.Message,
			"status": status, "details": details}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r.Body = string(b)
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(r.Status)
	_, _ = io.WriteString(w, r.Body)
}
