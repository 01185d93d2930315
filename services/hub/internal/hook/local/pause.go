package local

import (
	"strings"
	"time"

	"parley.internal/services/hub/internal/hook/session"
	"parley.internal/shared/hook/wire"
)

// pausedFor is the time for which a pause of a program, or of everything, halts sessions that begin while the server does
// not answer.
const pausedFor = 24 * time.Hour

// paused is the pause that a machine remembers of a connection, and when the server told of it, to the hour.
type paused struct {
	Pause *wire.Pause `json:"pause"`
	At    time.Time   `json:"at"`
}

// pauseID names the record of a connection. No session has an empty thread.
func pauseID(connection string) string { return ID(connection, "") }

// LoadSession reads the state of a session into s, which names its connection. A session without a state begins with the
// pause of its program that this machine remembers, which the server's first answer replaces.
func (p Place) LoadSession(id string, s *session.State, now time.Time) {
	if p.Load(id, s) {
		return
	}
	var r paused
	if p.Recall(pauseID(s.Connection), &r) && now.Sub(r.At) < pausedFor {
		s.Pause = r.Pause
	}
}

// SaveSession writes the state of a session, and remembers for its connection whether the program, or everything, is paused.
func (p Place) SaveSession(id string, s *session.State, now time.Time) error {
	if err := p.Save(id, s); err != nil || s.SessionID == "" { // the server has said nothing yet
		return err
	}
	switch {
	case s.Pause == nil:
		p.Forget(pauseID(s.Connection))
	case s.Pause.Of == "everything" || strings.HasPrefix(s.Pause.Of, "the program "):
		return p.Remember(pauseID(s.Connection), paused{s.Pause, now.UTC().Truncate(time.Hour)})
	}
	return nil
}
