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

// View is the output of get_overview: the current activity of a user.
type View struct {
	Sessions  []Session  `json:"sessions"`
	Claims    []Claim    `json:"claims"`
	Questions []Question `json:"questions"`
	Unread    []Unread   `json:"unread"`
	Mark      string     `json:"mark" jsonschema:"show it as since to wait for the next view"`
}

// seal sets the mark: a digest of the view without heartbeats and lease times, which change
// continually.
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
	text, err := json.Marshal(still)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	v.Mark = base64.RawURLEncoding.EncodeToString(sum[:12])
	return nil
}
