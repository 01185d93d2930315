package connectd

import (
	"context"
	"fmt"
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/usage"
	"parley.internal/shared/hook/wire"
)

// The times of a session's work beside its hooks.
const (
	callFor = 10 * time.Second
	// beatAfter is the least time between two reports of the agent's activity, and stillHere the time between two
	// reports while the activity stays the same.
	beatAfter = 10 * time.Second
	stillHere = 4 * time.Minute
	retry     = time.Second
	maxRetry  = 30 * time.Second
	// endFor is the time for telling the server of a session's end.
	endFor = 15 * time.Second
)

// tend makes the calls that are due for the session, one at a time, until it has ended.
func (s *session) tend() {
	pause := retry
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	for {
		select {
		case <-s.daemon.ctx.Done():
			return
		case <-s.kick:
		case <-again.C:
		}
		again.Reset(time.Hour)
		for {
			more, err := s.work()
			if s.over() {
				return
			}
			if err != nil {
				s.trouble(err)
				again.Reset(pause)
				pause = min(2*pause, maxRetry)
				break
			}
			if pause = retry; !more {
				again.Reset(beatAfter)
				break
			}
		}
	}
}

func (s *session) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return s.daemon.ctx.Err() != nil
	}
}

// work does the next thing that is due, and reports whether there may be more.
func (s *session) work() (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.save()
	ctx, cancel := context.WithTimeout(s.daemon.ctx, callFor)
	defer cancel()
	s.own(ctx)
	if s.st.Ended {
		s.last(ctx)
		s.finish()
		return false, nil
	}
	if err := s.reach(ctx); err != nil {
		return false, err
	}
	if s.st.SessionID == "" {
		return false, nil // the next hook makes it known
	}
	switch {
	case len(s.changes) > 0:
		return true, s.tell(ctx)
	case len(s.rechecks) > 0:
		return true, s.recheck(ctx)
	case s.turned:
		return s.report(ctx, wire.Turn)
	case s.fetches():
		return s.fetch(ctx)
	case len(s.st.Receipts) > 0:
		_, err := s.call(ctx, wire.Read, s.st.Input(hook.Call{}, wire.Read, 0))
		return true, err
	case s.tells():
		_, err := s.call(ctx, wire.Tool, s.st.Input(hook.Call{Doing: s.doing}, wire.Tool, 0))
		s.beat = time.Now()
		return true, err
	}
	return false, nil
}

// tells reports whether a report of the agent's activity is due.
func (s *session) tells() bool {
	since := time.Since(s.beat)
	return s.doing != s.said && since >= beatAfter || since >= stillHere && s.st.Process.PID != 0 && s.missing.IsZero() && !s.away
}

// ahead is the default of [Options.Ahead].
const ahead = 30 * time.Second

// fetches reports whether mail is to be fetched before a hook asks for it.
func (s *session) fetches() bool {
	w := s.st.Waiting
	inTurn := hook.Call{Client: s.st.Client, Event: textEvents[s.st.Client], Kind: hook.After}
	return s.st.InTurn && s.batch == nil && len(s.handed) == 0 && (w.Mail+w.Answers > 0 || s.lost) &&
		time.Since(s.hooked) < s.daemon.Ahead &&
		s.st.Room(inTurn, wire.Tool) > 0
}

// textEvents are events of each client that give a text to the model in the middle of a turn.
var textEvents = map[string]string{"claude": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool"}

// fetch fetches mail for the next hook.
func (s *session) fetch(ctx context.Context) (bool, error) {
	inTurn := hook.Call{Client: s.st.Client, Event: textEvents[s.st.Client], Kind: hook.After}
	in := s.st.Input(inTurn, wire.Read, s.st.Room(inTurn, wire.Tool))
	before := s.reasons
	out, err := s.call(ctx, wire.Read, in)
	if err != nil {
		return false, err
	}
	s.lost = false
	if len(out.Mail)+len(out.Answers)+len(out.Claims) > 0 {
		s.keep(out)
		s.reasons = s.unshown(s.reasons, before)
	}
	if out.Receipt == "" {
		s.st.Waiting.Mail, s.st.Waiting.Answers = 0, 0 // others have it, or it was shown: the wait reports new mail
	}
	return true, nil
}

// report reports the end of a turn or of the session, with the usage since the last report.
func (s *session) report(ctx context.Context, event wire.Event) (bool, error) {
	client, from := s.st.Client, s.st.Unbooked()
	s.turned = false // a turn that ends while the server is asked is reported after it
	s.mu.Unlock()
	records, read, err := usage.ReadAll(client, from, wire.MaxUsage)
	s.mu.Lock()
	if err != nil {
		s.daemon.log("the usage of %s cannot be read: %v", s.st.SessionID, err)
	}
	full := len(records) == wire.MaxUsage
	if full && event == wire.End {
		event = wire.Turn
	}
	in := s.st.Input(hook.Call{}, event, 0)
	in.Usage = records
	if _, err := s.call(ctx, event, in); err != nil {
		s.turned = true
		return false, err
	}
	s.st.Booked(read)
	s.turned = s.turned || full
	return true, nil
}

// finish tells the server of the session's end and forgets the session, unless the client takes it up meanwhile. The server is
// not waited for long: it sees by itself that a session is silent. Where the daemon ends before, the next one goes on.
func (s *session) finish() {
	ctx, cancel := context.WithTimeout(s.daemon.ctx, endFor)
	defer cancel()
	told := s.st.SessionID == ""
	for pause := retry / 4; s.st.Ended && s.st.SessionID != "" && ctx.Err() == nil; pause *= 2 {
		err := s.reach(ctx)
		if err == nil {
			s.turned = true
			if _, err = s.report(ctx, wire.End); err == nil && s.turned {
				continue
			}
		}
		if told = err == nil || isRefusal(err); told {
			break
		}
		s.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	if !s.st.Ended || !told && s.daemon.ctx.Err() != nil {
		return
	}
	left := s.leaves()
	if held, err := s.daemon.place.Hold(s.id, time.Now().Add(time.Second)); err == nil {
		s.daemon.place.Remove(s.id)
		held.Release()
	}
	s.dead = true
	s.replace(nil)
	close(s.ended)
	s.daemon.drop(s, s.hub)
	if left != nil {
		s.daemon.lately(s.id, left, true)
	}
}

// told records the answer of the wait about the session.
func (s *session) told(c wire.Changed) {
	s.mu.Lock()
	s.since, s.reasons, s.lost, s.away = c.Since, s.unshown(c.Wakes, s.reasons), len(c.Lost) > 0, c.Ended
	s.applied = s.calls // the answers of earlier calls are older
	s.contact, s.problem = s.daemon.Now(), ""
	s.st.Waiting.Mail, s.st.Waiting.Urgent, s.st.Waiting.Answers = c.Mail, c.Urgent, c.Answers
	if !c.Tasks {
		s.st.Waiting.Tasks = 0
	} else if s.st.Waiting.Tasks == 0 {
		s.st.Waiting.Tasks = 1
	}
	s.st.Pause = c.Pause
	s.save()
	s.mu.Unlock()
	s.stir()
	s.offer()
}

// waits returns the address and the last state of the session for a wait, if it is one of the hub's that the server
// knows.
func (s *session) waits(h *hub) (address, since string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.SessionID, s.since, s.hub == h && s.st.SessionID != "" && !s.st.Ended && !s.away && !s.dead
}

// trouble records the error of a call of the server.
func (s *session) trouble(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem == "" {
		s.daemon.log("the server of %s: %v", s.conn.ID, err)
	}
	s.problem = fmt.Sprintf("%.300s", err)
}

// look ends the session if its client is gone.
func (s *session) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.daemon.Now()
	switch p := s.st.Process; {
	case p.PID == 0:
		if now.Sub(s.st.Seen) < silent {
			return
		}
	case local.Alive(p.PID, p.Start):
		s.missing = time.Time{}
		return
	case s.missing.IsZero():
		s.missing = now
		return
	case now.Sub(s.missing) < gone:
		return
	}
	s.st.Ended = true
	s.settle(hook.Call{Kind: hook.End})
	s.stir()
}

// info describes the session.
func (s *session) info() local.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return local.SessionInfo{Connection: s.st.Connection, Client: s.st.Client, Version: s.st.Version,
		SessionID: s.st.SessionID, Dir: s.st.Dir, Seen: s.st.Seen, InTurn: s.st.InTurn, Paused: s.st.Pause != nil,
		Waiter: s.waker() != nil, Ready: s.batch != nil, Contact: s.contact, Trouble: s.problem}
}
