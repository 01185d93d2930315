package overview

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

// Session is a live session of an agent.
type Session struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	Program       string    `json:"programId,omitempty"`
	State         string    `json:"state"`
	Status        string    `json:"status,omitempty"`
	Progress      int       `json:"progress"`
	LastHeartbeat time.Time `json:"lastHeartbeat,omitzero"`
}

// Claim is a claimed task with its lease.
type Claim struct {
	ID         string      `json:"id"`
	Type       task.Type   `json:"type"`
	Title      string      `json:"title"`
	Target     string      `json:"target" jsonschema:"the queue that it came from"`
	Status     task.Status `json:"status"`
	ClaimedBy  string      `json:"claimedBy"`
	SessionID  string      `json:"sessionId,omitempty"`
	LeaseUntil time.Time   `json:"leaseUntil,omitzero"`
}

// Question is a question without an answer.
type Question struct {
	ID        string             `json:"id"`
	Question  string             `json:"question"`
	Options   []string           `json:"options"`
	Source    string             `json:"source,omitempty"`
	Priority  task.Priority      `json:"priority"`
	Assurance identity.Assurance `json:"assurance" jsonschema:"which an answer needs"`
	CreatedAt time.Time          `json:"createdAt"`
	ExpiresAt time.Time          `json:"expiresAt"`
}

// Unread is the number of unread messages of a program.
type Unread struct {
	Program string `json:"program"`
	Count   int    `json:"count"`
	More    bool   `json:"more,omitempty" jsonschema:"there is more than was counted"`
}

// Queue is the queue of a program with tasks that wait or are in work.
type Queue struct {
	Target  string    `json:"target"`
	Waiting int       `json:"waiting"`
	Oldest  time.Time `json:"oldest,omitzero" jsonschema:"since when the oldest waits"`
	Active  int       `json:"active"`
}

// Alert is an alert that nobody has acknowledged.
type Alert struct {
	ID        string    `json:"id"`
	AlertType string    `json:"alertType"`
	Title     string    `json:"title"`
	Source    string    `json:"source,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// Caller is a program that has called with its key and never made a session.
type Caller struct {
	Program    string    `json:"program"`
	LastUsedAt time.Time `json:"lastUsedAt"`
}

// View is the output of get_overview: the current activity of a user.
type View struct {
	Sessions  []Session  `json:"sessions"`
	Claims    []Claim    `json:"claims"`
	Questions []Question `json:"questions"`
	Unread    []Unread   `json:"unread"`
	Queues    []Queue    `json:"queues" jsonschema:"most that waits first; counted are the first 100 tasks that wait, and the claims shown"`
	Uncounted bool       `json:"uncounted,omitempty" jsonschema:"more tasks wait than were counted"`
	Alerts    []Alert    `json:"alerts"`
	Callers   []Caller   `json:"callers" jsonschema:"programs that have called and never made a session"`
	Strays    []Unread   `json:"strays" jsonschema:"unread mail to names that no program has"`
	Mark      string     `json:"mark" jsonschema:"show it as since to wait for the next view"`
}

// seal sets the mark: a digest of the view without the times of heartbeats, leases and calls, which
// change continually.
func (v *View) seal() error {
	still := *v
	still.Mark = ""
	still.Sessions = append([]Session{}, v.Sessions...)
	for i := range still.Sessions {
		still.Sessions[i].LastHeartbeat = time.Time{}
	}
	still.Claims = append([]Claim{}, v.Claims...)
	for i := range still.Claims {
		still.Claims[i].LeaseUntil = time.Time{}
	}
	still.Callers = append([]Caller{}, v.Callers...)
	for i := range still.Callers {
		still.Callers[i].LastUsedAt = time.Time{}
	}
	text, err := json.Marshal(still)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	v.Mark = base64.RawURLEncoding.EncodeToString(sum[:12])
	return nil
}
