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

// Resumption says which session of the client a task goes on with.
type Resumption string

const (
	// ByThread continues the session of the last task with the same threadId. A task without one begins a session.
	ByThread Resumption = "thread"
	// OneForAll continues the session of the last task, whatever their threads.
	OneForAll Resumption = "all"
	// Anew continues none, and keeps none.
	Anew Resumption = "none"
)

// thread returns the thread whose session a task with a threadId goes on with. It is not ok where the task begins a session
// that no other goes on with.
func (r Resumption) thread(id string) (thread string, ok bool) {
	switch r {
	case OneForAll:
		return "", true
	case Anew:
		return "", false
	}
	return id, id != ""
}

// maxSessions is the number of threads whose sessions are kept.
const maxSessions = 500

// session is the client's session of a thread, and its whole usage.
type session struct {
	Thread string         `json:"thread"`
	ID     string         `json:"id"`
	Sum    launcher.Usage `json:"sum"`
}

// sessions are the clients' sessions by the threadId of their tasks, the latest used last. The empty thread is that of all
// tasks.
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
