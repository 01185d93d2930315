package connectd

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/process"
	state "parley.internal/services/hub/internal/hook/session"
	"parley.internal/shared/hook/wire"
)

var pid = os.Getpid()

// session is a session of a client. Its state is the owner's while it is locked; calls of the server are made without the lock.
type session struct {
	daemon *Daemon
	id     string
	thread string
	kick   chan struct{}

	mu   sync.Mutex
	st   state.State
	conn connection.Connection
	hub  *hub
	// read reports that the state is the one of the disk: a hook that called the server by itself may have written it.
	read  bool
	ended chan struct{}

	// batch is mail that was fetched and not shown.
	batch *batch
	// handed are the outputs that a process was given and has not confirmed, by their receipts.
	handed map[string]wire.HookOutput
	// calls counts the calls of the server, and applied is the number of the last call whose answer was recorded.
	calls, applied int
	since          string
	reasons        []wire.Wake
	lost           bool
	away           bool // the server does not know the session any more
	doing          string
	said           string // the activity that the server knows
	beat           time.Time
	turned         bool      // a turn has ended, and the usage was not reported
	rested         time.Time // the end of the last turn, however it ended
	slow           time.Time
	hooked         time.Time     // the time of the last hook
	quiet          time.Duration // between it and the one before
	contact        time.Time
	problem        string
	missing        time.Time // the time since which the client's process is gone
	waiter         *waiter
	unwell         time.Time // the time before which no wake is tried
	helpless       time.Time // the time since which a reason to wake the agent waits without a means to do it
	dead           bool      // the session is forgotten; another takes its place

	// commands are the calls of a shell that run, by the client's ids. comparing counts those that are over and are compared,
	// compared is closed when there is none any more, and changes are the files that the server is to know of.
	commands  map[string]*command
	comparing int
	compared  chan struct{}
	changes   []changes

	// passed are the times until which edits of files are answered from memory, and rechecks those that were.
	passed   map[string]time.Time
	rechecks []hook.Call
}

// newSession returns a session with the state of the disk.
func newSession(d *Daemon, id string, c connection.Connection, thread string) *session {
	s := &session{daemon: d, id: id, thread: thread, conn: c, kick: make(chan struct{}, 1), ended: make(chan struct{}),
		handed: map[string]wire.HookOutput{}, commands: map[string]*command{}, compared: make(chan struct{}), passed: map[string]time.Time{}}
	s.st = state.State{Connection: c.ID, Client: c.Client, Thread: thread, Seen: d.Now()}
	d.place.LoadSession(id, &s.st, d.Now())
	s.stir()
	return s
}

// stir makes the session look for due work.
func (s *session) stir() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// own reads the state again when the first hook comes, because a hook may have called the server meanwhile, and waits for one
// that does.
func (s *session) own(ctx context.Context) {
	if s.read {
		return
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(process.Budget)
	}
	if held, err := s.daemon.place.Hold(s.id, deadline); err == nil {
		defer held.Release()
	}
	s.daemon.place.LoadSession(s.id, &s.st, s.daemon.Now())
	for _, r := range s.daemon.place.Marks(s.id, local.Shown) {
		s.st.Shown(r)
	}
	s.read = true
}

// save writes the state, so that a kill after it loses nothing of it.
func (s *session) save() {
	if s.dead {
		return
	}
	if err := s.daemon.place.SaveSession(s.id, &s.st, s.daemon.Now()); err != nil {
		s.daemon.log("the state of %s cannot be written: %v", s.st.SessionID, err)
	}
}

// reach finds the session's server. The key may have to come from a keyring.
func (s *session) reach(ctx context.Context) error {
	if s.hub != nil {
		return nil
	}
	c, err := connection.Read(s.daemon.place.Connections, s.st.Connection)
	if err != nil {
		return err
	}
	h, err := s.daemon.reach(ctx, c)
	if err != nil {
		return err
	}
	s.conn, s.hub = c, h
	return nil
}

// answer answers a hook: from memory where that is enough, and else by the server within the time of ctx. It is not alive where
// the session has just ended, so that another begins.
func (s *session) answer(ctx context.Context, req local.Request) (reply hook.Reply, receipt string, alive bool) {
	at := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return hook.Reply{}, "", false
	}
	s.own(ctx)
	call := req.Call
	if call.Kind == hook.Start || call.Kind == hook.Resume {
		s.hub = nil // the connection may have been made anew
	}
	worked := s.st.InTurn || call.Kind == hook.Turn
	s.st.Begin(call, s.daemon.Now())
	s.quiet, s.hooked = at.Sub(s.hooked), at
	s.missing, s.away = time.Time{}, false
	if req.Process.PID != 0 {
		s.st.Process = req.Process
	}
	s.follows(call)
	if req.Terminal.Path != "" {
		s.st.Terminal = req.Terminal
	}
	if req.Env != nil {
		s.st.Env = req.Env
	}
	if call.Doing != "" {
		s.doing = call.Doing
	}
	if call.ReadsHistory {
		s.batch.again()
	}
	if call.Kind == hook.Turn {
		s.turned = true
	}
	if worked && !s.st.InTurn {
		s.rested = time.Now()
	}
	s.follow(call, at)
	s.settle(call)
	defer s.stir()
	defer s.save()
	if err := s.reach(ctx); err != nil {
		s.problem = err.Error()
		reply, receipt = s.st.Reply(call, "", nil, s.conn)
		return reply, receipt, true
	}
	event := s.st.Event(call)
	var out *wire.HookOutput
	if s.asks(call, event) {
		out = s.joined(call, event, s.ask(ctx, call, event))
	} else if event != "" && event != wire.End {
		out = s.remembered(call, event)
		if event == wire.Edit && s.st.Pause == nil {
			s.later(call)
		}
	}
	reply, receipt = s.st.Reply(call, event, out, s.conn)
	if call.Kind == hook.Edit {
		s.edits(call, out)
	}
	if out != nil && receipt == "" && out.Receipt != "" {
		s.keep(*out) // it was not shown: it is for the next hook
	}
	if receipt != "" {
		s.handed[receipt] = *out
	}
	return reply, receipt, true
}

// asks reports whether an event is answered by the server and not from memory.
func (s *session) asks(call hook.Call, event wire.Event) bool {
	switch event {
	case wire.Start, wire.Resume, wire.Compact:
		return true
	case wire.Edit:
		return s.st.Pause == nil && !s.may(call) && (s.fast() || s.st.Repo.Dir != s.st.Dir || s.st.Repo.Strict())
	case wire.Turn:
		return s.st.MayContinue(s.conn) && s.fast() && (s.batch == nil || s.st.WantsAnswer())
	case wire.Prompt:
		w := s.st.Waiting
		wanted := s.batch == nil && w.Mail+w.Answers > 0 || s.stale()
		return s.fast() && (s.st.SessionID == "" || s.st.Room(call, event) > 0 && wanted)
	case wire.Tool:
		w := s.st.Waiting
		unfetched := s.batch == nil && (w.Mail+w.Answers > 0 || s.lost) && s.quiet >= s.daemon.Ahead
		return s.fast() && (s.st.SessionID == "" || s.st.Room(call, event) > 0 && (s.stale() || unfetched))
	}
	return false
}

// fast reports whether the server has answered in time of late.
func (s *session) fast() bool { return time.Since(s.slow) > 5*time.Second }

// ask calls the server for an event, with the lock given up meanwhile. It is nil without an answer in time.
func (s *session) ask(ctx context.Context, call hook.Call, event wire.Event) *wire.HookOutput {
	if call.Kind == hook.Edit && !s.st.Repo.Strict() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, process.Budget+s.daemon.Slack-margin)
		defer cancel()
	}
	if call.Kind != hook.Turn {
		s.st.Locate(ctx)
	}
	room := s.st.Room(call, event)
	if event == wire.Turn {
		event = wire.Read // the end of the turn itself is told with the usage
		if room = 0; s.st.WantsAnswer() {
			room = state.AskTurn
		}
	}
	in := s.st.Input(call, event, room)
	if c, err := connection.Read(s.daemon.place.Connections, s.st.Connection); err == nil {
		in.Permissions = state.Rules(event, c.Permissions)
	}
	out, err := s.call(ctx, event, in)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			s.slow = time.Now()
		}
		return nil
	}
	if f := out.Files; f != nil && event == wire.Edit {
		s.learn(call, f)
		if err := s.st.Repo.Learn(f.Strict, f.Auto); err != nil {
			s.daemon.log("the settings of %s cannot be remembered: %v", s.st.Repo.Project, err)
		}
	}
	if call.Kind == hook.Turn && room == 0 && s.st.Waiting.Urgent+s.st.Waiting.Answers > 0 {
		if more, err := s.call(ctx, wire.Read, s.st.Input(call, wire.Read, state.AskTurn)); err == nil {
			out = more
		}
	}
	return &out
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// call calls the server with the lock given up, and records its answer unless a later call has been answered.
func (s *session) call(ctx context.Context, event wire.Event, in wire.HookInput) (wire.HookOutput, error) {
	s.calls++
	n, h := s.calls, s.hub
	if in.Doing != "" {
		s.said, s.beat = in.Doing, time.Now()
	}
	s.mu.Unlock()
	out, err := h.Hook(ctx, in)
	s.mu.Lock()
	if err != nil {
		s.problem, s.said = err.Error(), ""
		return out, err
	}
	s.slow, s.contact, s.problem = time.Time{}, s.daemon.Now(), ""
	s.confirmed(in.Receipt)
	fresh := s.st.SessionID != out.SessionID
	s.st.Heard(event, out, n > s.applied || fresh)
	s.applied = max(n, s.applied)
	if fresh {
		s.daemon.mu.Lock()
		s.daemon.changed(s.hub)
		s.daemon.mu.Unlock()
	}
	return out, nil
}

// confirmed records that the server has a receipt.
func (s *session) confirmed(receipt string) {
	if receipt == "" {
		return
	}
	s.st.Confirmed(receipt)
	s.daemon.place.Unmark(s.id, local.Shown, receipt)
}

// shown records whether the output with a receipt was written. Output that was not goes to the next hook, marked.
func (s *session) shown(receipt string, written bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, ok := s.handed[receipt]
	delete(s.handed, receipt)
	if !ok {
		return true
	}
	if !written {
		again(&out)
		s.keep(out)
		return false
	}
	s.st.Printed(out)
	s.save()
	s.stir()
	return true
}
