package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"parley.internal/services/hub/internal/checkout/snapshot"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/session"
	"parley.internal/services/hub/internal/hook/usage"
	"parley.internal/shared/hook/wire"
)

// The times around the start of a daemon: for how long a session's start waits for it, which has the time, and how often one
// is started.
const (
	awaited   = time.Second
	restarted = 3 * time.Second
)

// maxCommands is the number of commands of a session that are looked after at once.
const maxCommands = 20

// daemonOf returns the command of the daemon for a program of Parley.
func daemonOf(program string) []string {
	if runtime.GOOS == "windows" {
		return nil // each hook calls the server by itself
	}
	dir, name := filepath.Split(program)
	if strings.HasPrefix(name, "parley-hook") {
		program = dir + "parley"
	}
	return []string{program, "connectd"}
}

// begin starts a daemon. The start of a session, whose budget allows it, waits for it; every other call goes to the server
// meanwhile.
func (p *Process) begin(ctx context.Context, call hook.Call) (*local.Conn, error) {
	if p.Daemon == nil || call.Kind == hook.End {
		return nil, local.ErrNoDaemon
	}
	mark := filepath.Join(p.place.Dir, "started")
	if info, err := os.Stat(mark); err != nil || time.Since(info.ModTime()) > restarted {
		_ = os.WriteFile(mark, nil, 0o600)
		p.start()
	}
	if call.Kind != hook.Start && call.Kind != hook.Resume {
		return nil, local.ErrNoDaemon
	}
	for end := time.Now().Add(awaited); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if conn, err := p.place.Dial(ctx); err == nil {
			return conn, nil
		}
	}
	return nil, local.ErrNoDaemon
}

// start starts the daemon as a process that outlives this one.
func (p *Process) start() {
	log, err := os.OpenFile(p.place.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer log.Close()
	cmd := exec.Command(p.Daemon[0], p.Daemon[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.place.Dir, log, log, local.Detached()
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}

// direct asks the server, and keeps the state of the session for the next hook and for the daemon.
func (p *Process) direct(ctx context.Context, call hook.Call) int {
	id := p.session(call)
	held, err := p.place.Hold(id, p.deadline)
	if err != nil {
		return p.remembered(call)
	}
	defer held.Release()
	s := session.State{Connection: p.id}
	p.place.LoadSession(id, &s, time.Now())
	for _, receipt := range p.place.Marks(id, local.Shown) {
		s.Shown(receipt)
	}
	s.Begin(call, time.Now())
	if call.Kind == hook.Start || call.Kind == hook.Resume {
		s.Process, s.Terminal = processOf(call), local.Terminal()
	}
	if e := p.environment(call); e != nil {
		s.Env = e
	}
	event := s.Event(call)
	settled := p.settles(ctx, call)
	out := p.ask(ctx, &s, call, event)
	settled.Wait()
	reply, receipt := s.Reply(call, event, out, p.conn)
	if call.Kind == hook.End && out != nil {
		p.place.Remove(id)
		return reply.Code
	}
	if p.print(reply) && receipt != "" {
		s.Printed(*out)
	}
	_ = p.place.SaveSession(id, &s, time.Now()) // without it the next hook asks again, and mail that was shown is marked when it comes again
	return reply.Code
}

// settles takes back the questions about permission requests that the event shows to be settled in the client, beside the
// server's answer to the event. Those for which there is no time are left to the next event.
func (p *Process) settles(ctx context.Context, call hook.Call) *sync.WaitGroup {
	var all sync.WaitGroup
	if !call.Kind.May() {
		return &all
	}
	id := p.session(call)
	words, reason := call.Settles(p.place.Marks(id, local.Asked))
	if len(words) == 0 {
		return &all
	}
	hub, err := p.connect(ctx)
	if err != nil {
		return &all
	}
	for _, word := range words {
		all.Go(func() {
			if hub.TakesBack(ctx, word, reason) {
				p.place.Unmark(id, local.Asked, word)
			}
		})
	}
	return &all
}

// ask calls the server for an event. It is nil without an answer in time.
func (p *Process) ask(ctx context.Context, s *session.State, call hook.Call, event wire.Event) *wire.HookOutput {
	hub, err := p.connect(ctx)
	if err != nil || event == "" {
		return nil
	}
	s.Locate(ctx)
	if call.Kind == hook.Edit && !s.Repo.Strict() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Budget+p.Slack)
		defer cancel()
	}
	in := s.Input(call, event, s.Room(call, event))
	in.Changed, in.Permissions = changed(ctx, s, call), session.Rules(event, p.conn.Permissions)
	var read []usage.Position
	if event == wire.Turn || event == wire.End {
		in.Usage, read, _ = usage.ReadAll(call.Client, s.Unbooked(), wire.MaxUsage)
	}
	out, err := hub.Hook(ctx, in)
	if err != nil {
		return nil
	}
	s.Booked(read)
	s.Confirmed(in.Receipt)
	p.place.Unmark(p.session(call), local.Shown, in.Receipt)
	s.Heard(event, out, true)
	if f := out.Files; f != nil && event == wire.Edit {
		_ = s.Repo.Learn(f.Strict, f.Auto) // the next hook asks again
	}
	if event == wire.Turn && s.MayContinue(p.conn) && s.Waiting.Urgent+s.Waiting.Answers > 0 {
		in = wire.HookInput{Version: wire.Version, Client: s.Client, Event: wire.Read, Thread: s.Thread, SessionID: s.SessionID,
			MaxBytes: session.AskTurn}
		if more, err := hub.Hook(ctx, in); err == nil {
			s.Heard(wire.Read, more, true)
			out = more
		}
	}
	return &out
}

// lookFor is the time for a look at the worktree after a command.
const lookFor = 100 * time.Millisecond

// changed returns the files that a command which is over has changed. Without a daemon nobody looks at the worktree before the
// command, so the times of files and the commit that was checked out tell.
func changed(ctx context.Context, s *session.State, call hook.Call) []string {
	switch call.Kind {
	case hook.Start, hook.Resume, hook.Prompt, hook.Turn:
		s.Commands = nil
	case hook.Before:
		if call.Shell && s.Repo.Root != "" && len(s.Commands) < maxCommands {
			if s.Commands == nil {
				s.Commands = map[string]session.Command{}
			}
			s.Commands[call.Use] = session.Command{At: time.Now(), Head: s.Repo.Head()}
		}
	case hook.After:
		c, known := s.Commands[call.Use]
		if !call.Shell || !known || s.Repo.Root == "" {
			return nil
		}
		delete(s.Commands, call.Use)
		ctx, cancel := context.WithTimeout(ctx, lookFor)
		defer cancel()
		before := snapshot.Snapshot{Root: s.Repo.Root, Since: c.At, Head: c.Head}
		if names, err := before.Changed(ctx); err == nil {
			return s.Repo.Files(s.Repo.Root, names)
		}
	}
	return nil
}

// remembered answers by the state on the disk alone.
func (p *Process) remembered(call hook.Call) int {
	s := session.State{Connection: p.id}
	p.place.LoadSession(p.session(call), &s, time.Now())
	r, _ := s.Reply(call, "", nil, p.conn)
	p.print(r)
	return r.Code
}
