package connectd

import (
	"context"
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/shared/hook/wire"
)

// The times for which an edit is answered from memory: that of files which the server has reserved for the session, and of those
// which nobody held a moment ago. Each such edit is told to the server beside the answer, which renews the time.
const (
	ownFor  = 30 * time.Second
	freeFor = 5 * time.Second
	// maxRechecks bounds the edits that the server has yet to know.
	maxRechecks = 20
)

// may reports whether the files of an edit are known to be the session's or free, so that the server need not be waited for. In a
// strict project only reservations count. The caller holds the session.
func (s *session) may(call hook.Call) bool {
	files := s.files(call)
	for _, f := range files {
		if !s.daemon.Now().Before(s.passed[f]) {
			return false
		}
	}
	return len(files) > 0 && s.st.SessionID != ""
}

// files returns the files of an edit with the root of their repository.
func (s *session) files(call hook.Call) (out []string) {
	if s.st.Repo.Dir != s.st.Dir {
		return nil
	}
	for _, f := range s.st.Repo.Files(s.st.Dir, call.Paths) {
		out = append(out, s.st.Repo.Root+"\x00"+f)
	}
	return out
}

// learn remembers the server's decision about an edit, nil for none. The caller holds the session.
func (s *session) learn(call hook.Call, f *wire.Files) {
	now := s.daemon.Now()
	for name, until := range s.passed {
		if !now.Before(until) {
			delete(s.passed, name)
		}
	}
	for _, name := range s.files(call) {
		switch {
		case f != nil && f.Verdict == wire.Pass && f.Reserved:
			s.passed[name] = now.Add(ownFor)
		case f != nil && f.Verdict == wire.Pass && !f.Strict:
			s.passed[name] = now.Add(freeFor)
		default:
			delete(s.passed, name)
		}
	}
}

// later leaves an edit that was answered from memory for the server. The caller holds the session.
func (s *session) later(call hook.Call) {
	if len(s.rechecks) < maxRechecks {
		s.rechecks = append(s.rechecks, call)
	}
}

// recheck tells the server of an edit that was answered from memory. What another holds after all is told with the next hook, and
// the next edit of it waits for the server. The caller holds the session.
func (s *session) recheck(ctx context.Context) error {
	call := s.rechecks[0]
	s.rechecks = s.rechecks[1:]
	out, err := s.call(ctx, wire.Edit, s.st.Input(call, wire.Edit, 0))
	s.learn(call, out.Files)
	if f := out.Files; err == nil && f != nil && f.Verdict != wire.Pass {
		s.keep(wire.HookOutput{})
		s.batch.out.Files = f
	}
	return err
}
