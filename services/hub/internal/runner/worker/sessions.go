package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"parley.internal/services/hub/internal/runner/journal"
	"parley.internal/services/hub/internal/runner/launcher"
)

// maxSessions is the number of threads whose sessions are kept.
const maxSessions = 500

// session is the client's session of a thread, and its whole usage.
type session struct {
	Thread string         `json:"thread"`
	ID     string         `json:"id"`
	Sum    launcher.Usage `json:"sum"`
}

// sessions are the clients' sessions by the threadId of their tasks, the latest used last. Tasks without one share the
// empty thread.
type sessions struct {
	file string
	all  []session
}

// openSessions reads the sessions that a journal's directory keeps.
func openSessions(j *journal.Journal) (*sessions, error) {
	s := &sessions{file: j.File("sessions.json")}
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.all)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the sessions: %w; remove %s to begin new ones", err, s.file)
	}
	return s, nil
}

// of returns the session of a thread, empty if there is none.
func (s *sessions) of(thread string) session {
	for _, one := range s.all {
		if one.Thread == thread {
			return one
		}
	}
	return session{}
}

// keep makes a session that of a thread.
func (s *sessions) keep(thread string, one session) error {
	one.Thread = thread
	s.drop(thread)
	if s.all = append(s.all, one); len(s.all) > maxSessions {
		s.all = s.all[len(s.all)-maxSessions:]
	}
	return s.write()
}

// forget removes the session of a thread.
func (s *sessions) forget(thread string) error {
	s.drop(thread)
	return s.write()
}

func (s *sessions) drop(thread string) {
	var kept []session
	for _, one := range s.all {
		if one.Thread != thread {
			kept = append(kept, one)
		}
	}
	s.all = kept
}

func (s *sessions) write() error {
	text, err := json.Marshal(s.all)
	if err == nil {
		err = journal.Write(s.file, text)
	}
	return err
}
