package connectd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"parley.internal/services/hub/internal/connectd/wake"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/shared/hook/wire"
)

const (
	// deaf is the time without a hook after which a turn counts as over: a client tells of a person who stopped it only where
	// a tool ran.
	deaf = 5 * time.Minute
	// wakeFor is the time for delivering a wake, and unwell that after a failure.
	wakeFor = 30 * time.Second
	unwell  = time.Minute
)

// waiter is a process of the client that wakes the agent.
type waiter struct {
	wake chan offered
	over chan struct{}
	// watches is set for a process that goes on after a wake. It outlives a session, and serves the next of its client.
	watches bool
	// of is the session that it serves.
	of atomic.Pointer[session]
}

// offered is a wake with the session that it is for.
type offered struct {
	s      *session
	reason wire.Wake
}

// replace makes another process the session's waiter, and ends the one before unless that watches. The caller holds the
// session.
func (s *session) replace(w *waiter) {
	if old := s.waiter; old != nil && old != w && !old.watches {
		close(old.over)
	}
	if w != nil {
		w.of.Store(s)
	}
	s.waiter = w
}

// waker returns the process that wakes the agent of the session, nil for none. The caller holds the session.
func (s *session) waker() *waiter {
	if s.waiter != nil && s.waiter.of.Load() == s {
		return s.waiter
	}
	return nil
}

// wait holds a process until there is a wake for it.
func (d *Daemon) wait(conn *local.Conn, req local.Request) {
	w := &waiter{wake: make(chan offered), over: make(chan struct{}), watches: req.Op == local.Watch}
	end, ok := d.begins(w, req)
	if !ok {
		_ = conn.Send(local.Response{Over: true})
		return
	}
	defer end()
	acks := make(chan local.Ack, 1)
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		for {
			var a local.Ack
			if conn.Receive(&a) != nil {
				return
			}
			select {
			case acks <- a:
			default: // nobody asked for it
			}
		}
	}()
	for d.hold(conn, w, acks, lost) && w.watches {
	}
}

// begins makes a process the waiter of its session, and returns the function that undoes it. It is not ok where there is no
// such session.
func (d *Daemon) begins(w *waiter, req local.Request) (end func(), ok bool) {
	if w.watches {
		return d.watch(w, req), true
	}
	s, err := d.session(req.Connection, req.Call.Thread)
	if err != nil || !s.takes(w, req) {
		return nil, false
	}
	return func() { s.loses(w) }, true
}

// takes makes a process the session's waiter, and reports whether the session goes on.
func (s *session) takes(w *waiter, req local.Request) bool {
	defer s.offer()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return false
	}
	if req.Process.PID != 0 {
		s.st.Process = req.Process
	}
	s.replace(w)
	return true
}

func (s *session) loses(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiter == w {
		s.waiter = nil
	}
}

// hold waits for one wake and delivers it. It reports whether that was done.
func (d *Daemon) hold(conn *local.Conn, w *waiter, acks chan local.Ack, lost chan struct{}) bool {
	select {
	case <-lost:
		return false
	case <-w.over:
		_ = conn.Send(local.Response{Over: true})
		return false
	case <-d.ctx.Done():
		return false // the process looks for the next daemon
	case o := <-w.wake:
		delivered := false
		if conn.Send(local.Response{Line: wake.Text(o.reason)}) == nil {
			select {
			case a := <-acks:
				delivered = a.Written
			case <-lost:
			case <-time.After(hello):
			}
		}
		if !delivered {
			o.s.failed(o.reason, errors.New("the process that waits did not take it"))
		}
		return delivered
	}
}

// offer wakes the agent if it is idle and something may wake it.
func (s *session) offer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.daemon.Now()
	busy := s.st.InTurn && now.Sub(s.st.Seen) < deaf
	byCodex := s.st.Client == "codex" && s.st.Env != nil
	w := s.waker()
	if w != nil || byCodex || busy || len(s.reasons) == 0 {
		s.helpless = time.Time{}
	}
	if len(s.reasons) == 0 || busy || s.dead || s.st.Ended || s.st.Headless || s.st.Pause != nil || s.conn.Wake.Off || !s.read ||
		now.Before(s.unwell) {
		return
	}
	helpless := w == nil && !byCodex
	if helpless && !s.isHelpless() || !byCodex && time.Since(s.rested) < s.daemon.Rest {
		return
	}
	rules := wake.Rules{On: s.conn.Wake.On, PerHour: s.conn.Wake.PerHour, PerSender: s.conn.Wake.PerSender}
	held := len(s.st.Wake.Held)
	v := s.st.Wake.Offer(rules, now, s.daemon.free(s.id, s.reasons))
	if v.Wake != nil && helpless {
		s.st.Wake.CalledPerson()
	}
	if v.Wake != nil || v.Stopped != "" || len(s.st.Wake.Held) != held {
		s.save()
	}
	if v.Stopped != "" && s.hub != nil {
		h, me, other := s.hub, s.st.SessionID, v.Stopped
		s.daemon.work.Go(func() { s.daemon.alert(h, me, other) })
	}
	if v.Wake == nil {
		return
	}
	reason := *v.Wake
	s.daemon.use(s.id, reason)
	if helpless {
		s.daemon.work.Go(func() { s.ring(reason) })
		return
	}
	if byCodex {
		s.daemon.work.Go(func() { s.queue(reason) })
		return
	}
	s.daemon.work.Go(func() {
		t := time.NewTimer(wakeFor)
		defer t.Stop()
		select {
		case w.wake <- offered{s, reason}:
		case <-w.over:
			s.failed(reason, errors.New("another process waits"))
		case <-t.C:
			s.failed(reason, errors.New("the process that waits is gone"))
		case <-s.daemon.ctx.Done():
			s.failed(reason, s.daemon.ctx.Err())
		}
	})
}

// failed takes back a wake that did not reach the agent.
func (s *session) failed(reason wire.Wake, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return
	}
	s.st.Wake.Failed(reason.ID)
	s.daemon.unuse(reason)
	s.save()
	if s.st.Client == "codex" || s.waker() == nil {
		s.unwell = s.daemon.Now().Add(unwell)
	}
	s.daemon.log("%s was not woken: %v", s.st.SessionID, err)
}

// isHelpless reports whether there has been no means to wake the agent for a while: one that its client brings by itself may
// be on its way. The caller holds the session.
func (s *session) isHelpless() bool {
	now := time.Now()
	if s.helpless.IsZero() {
		s.helpless = now
	}
	return now.Sub(s.helpless) >= s.daemon.Patience
}

// ring calls the person, who is the only one that can wake the agent: by the bell of its terminal, and by a push.
func (s *session) ring(reason wire.Wake) {
	s.mu.Lock()
	t, h, me, dir := s.st.Terminal, s.hub, s.st.SessionID, s.st.Dir
	s.mu.Unlock()
	rung := local.Ring(t)
	err := errors.New("its server is not known")
	if h != nil {
		ctx, cancel := context.WithTimeout(s.daemon.ctx, wakeFor)
		defer cancel()
		text := fmt.Sprintf("%s is idle, and its client cannot be woken: %s from %s waits for it. Prompt it in its terminal (%s).",
			me, reason.Kind, reason.From, filepath.Base(dir))
		err = h.Alert(ctx, text, me)
	}
	if err != nil && !rung {
		s.failed(reason, err)
	}
}

// queue wakes an agent in Codex.
func (s *session) queue(reason wire.Wake) {
	s.mu.Lock()
	env, dir, thread := s.st.Env, s.st.Dir, s.thread
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.daemon.ctx, wakeFor)
	defer cancel()
	if err := s.daemon.Codex(ctx, env, dir, "queue", "--thread", thread, "--message", wake.Text(reason)); err != nil {
		s.failed(reason, err)
	}
}

// codex runs the program of Codex that the session's own environment has.
func codex(ctx context.Context, env map[string]string, dir string, args ...string) error {
	program := ""
	for _, p := range filepath.SplitList(env["PATH"]) {
		name := filepath.Join(p, "codex")
		if info, err := os.Stat(name); err == nil && filepath.IsAbs(name) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			program = name
			break
		}
	}
	if program == "" {
		return errors.New("codex is not in the PATH of the session")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
		return fmt.Errorf("codex queue: %w: %.200s", err, said)
	}
	return nil
}

// alert tells the person that two agents were stopped.
func (d *Daemon) alert(h *hub, me, other string) {
	ctx, cancel := context.WithTimeout(d.ctx, wakeFor)
	defer cancel()
	text := fmt.Sprintf("%s and %s do nothing but wake each other, so %s does not wake %s any more. Prompt %s if they are to go on.",
		me, other, other, me, me)
	if err := h.Alert(ctx, text, me); err != nil {
		d.log("the person was not told that %s and %s were stopped: %v", me, other, err)
	}
}

// free leaves out the reasons that have woken another session: for a message to a program one session is enough.
func (d *Daemon) free(id string, reasons []wire.Wake) []wire.Wake {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []wire.Wake
	for _, r := range reasons {
		if by := d.used[r.ID]; by == "" || by == id {
			out = append(out, r)
		}
	}
	return out
}

func (d *Daemon) use(id string, reason wire.Wake) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.used) > 10_000 {
		clear(d.used) // each session remembers its own
	}
	d.used[reason.ID] = id
}

func (d *Daemon) unuse(reason wire.Wake) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.used, reason.ID)
}
