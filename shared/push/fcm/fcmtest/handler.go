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

// Handler answers POST /v1/projects/{project}/messages:send as FCM does. The zero value accepts every message that FCM
// would accept.
type Handler struct {
	// OnMessage is called with each message in the order of arrival, one call at a time and before the message is
	// answered. Dry runs are left out. It may be nil.
	OnMessage func(Message)
	// Respond returns the reply to a message, dry runs included. It may block; ctx ends when the client closes the
	// connection. The zero Reply and a nil Respond stand for the reply that FCM would give.
	Respond func(ctx context.Context, m Message) Reply

	mu sync.Mutex
	n  int
}

// Reply is the answer to a message. The zero value accepts the message.
type Reply struct {
	// Status is the HTTP status; 0 means 200.
	Status int
	// Code is FCM's error code, such as UNREGISTERED; empty for an error without one, such as a refused credential.
	Code string
	// Message is the text of the error; empty means FCM's usual text for the code.
	Message string
	// Body replaces the body that is made from the other fields.
	Body string
}

// maxBody is larger than any message within FCM's limits, in bytes.
const maxBody = 1 << 20

// ServeHTTP implements [http.Handler].
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
	name := h.record(m)
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

// record passes the message to OnMessage and returns its name.
func (h *Handler) record(m Message) string {
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

// write sends the reply. field is the field of the message that the error is about, empty for none.
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
