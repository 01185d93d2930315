package hook

import (
	"cmp"
	"context"
	"path"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// The times between heartbeats: at least beatEvery where nothing changed, and beatNews where the session does something
// else.
const (
	beatEvery = 30 * time.Second
	beatNews  = 5 * time.Second
)

// Hook serves one event of a client's session. Keys that speak for no program, and those of people, are Forbidden: a hook
// belongs to an agent with an inbox. The mail and answers of its output are handed over only where that goes on; a pause
// leaves them unread. The event end confirms its receipt, counts its usage and ends the session, and hands over
// nothing.
func (s *Service) Hook(ctx context.Context, c identity.Caller, in wire.HookInput) (wire.HookOutput, error) {
	out := wire.HookOutput{Version: wire.Version, Program: c.Program, Verified: true, Thread: in.Thread}
	if err := served(c); err != nil {
		return out, err
	}
	in.Doing, in.Name = line(in.Doing, 200), line(in.Name, 200)
	address, v, err := s.enter(ctx, c, in)
	if err != nil {
		return out, err
	}
	out.SessionID, c.Session = address, address
	v.link.confirm(in.Receipt)
	if address == "" || in.Event == wire.End {
		return out, s.leave(ctx, c, in, &v, address)
	}
	out.Pause = v.pause(c, cmp.Or(in.Project, v.link.Project))
	mine, err := s.holdings(ctx, c, &v.link, v.leases, introduces(in.Event))
	if err != nil {
		return out, err
	}
	if err := s.Ledger.Observe(ctx, c, address, withTask(in.Usage, mine.only)); err != nil {
		return out, err
	}
	if out.Files, err = s.judge(ctx, c, in, address); err != nil {
		return out, err
	}
	if introduces(in.Event) {
		if out.Others, err = s.others(ctx, c, &v, address); err != nil {
			return out, err
		}
	}
	out.Claims, out.Waiting = mine.told, v.count(in, s.Now())
	if err := s.write(ctx, c, in, &v, mine, &out); err != nil {
		return out, err
	}
	out.More = max(0, out.Waiting.Mail+out.Waiting.Answers-len(out.Mail)-len(out.Answers))
	shorten(&out)
	return out, nil
}

// served returns Forbidden to a caller that has no inbox of its own.
func served(c identity.Caller) error {
	if c.IsHuman() || !c.Bound() {
		return fault.New(fault.Forbidden, "hooks are for the key of an agent that is bound to a program; %s: parley connect "+
			"makes one for a client", c)
	}
	return nil
}

// enter returns the address of the call's session and the data that was read for it. It begins the session where there
// is none, unless the event is End or Read: the address is empty then, or the fault NotFound.
func (s *Service) enter(ctx context.Context, c identity.Caller, in wire.HookInput) (string, sight, error) {
	address := in.SessionID
	if address == "" {
		var p thread
		if err := store.Load(ctx, s.DB.User(c.User), threads.Fetch(threadID(c, in), &p)); err != nil {
			return "", sight{}, err
		}
		address = p.Address
	}
	if address != "" {
		address = identity.Address(c.Program, address)
		v, err := s.look(ctx, c, address, in)
		if err != nil || v.goesOn(in) {
			return address, v, err
		}
		if !v.mayResume(in) {
			address = "" // another session has it now
		}
	}
	switch in.Event {
	case wire.End:
		return "", sight{}, nil
	case wire.Read:
		return "", sight{}, fault.New(fault.NotFound, "no session of the thread %.200q: the event start begins one", in.Thread)
	}
	address, err := s.begin(ctx, c, in, address)
	if err != nil {
		return "", sight{}, err
	}
	v, err := s.look(ctx, c, address, in)
	return address, v, err
}

// goesOn reports whether the session that was found is the client's own and has not ended.
func (v *sight) goesOn(in wire.HookInput) bool {
	return v.known && v.seat.Live && v.seat.Mine && v.same(in)
}

// same reports whether the link is of the client's thread and of this session.
func (v *sight) same(in wire.HookInput) bool {
	return v.link.Thread == in.Thread && v.link.Client == in.Client && v.link.Began.Equal(v.seat.Began)
}

// mayResume reports whether the client may go on with the session of the address: it was its own, or the input names one
// that an agent has begun by itself and that no client has.
func (v *sight) mayResume(in wire.HookInput) bool {
	if !v.seat.Found || !v.seat.Mine {
		return false
	}
	free := !v.known || !v.link.Began.Equal(v.seat.Began)
	return v.known && v.same(in) || v.seat.Live && free && in.SessionID != ""
}

// begin begins a session for the client's thread, or goes on with that of the address, and remembers it.
func (s *Service) begin(ctx context.Context, c identity.Caller, in wire.HookInput, resumed string) (
	address string, err error,
) {
	now, name, project := s.Now(), in.Name, ""
	if name == "" {
		name = strings.Trim(line(in.Client, 40)+" "+path.Base("/"+line(strings.ReplaceAll(in.Directory, `\`, "/"), 150)), " /")
	}
	if in.Project != "" {
		project = line(path.Base(in.Project), 100)
	}
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		given := resumed
		if given == "" {
			if given, err = s.begun(ctx, tx, c, in); err != nil {
				return err
			}
		}
		seat, write, err := s.Sessions.Join(ctx, tx, c, Joining{Address: given, Name: name, Doing: in.Doing, Project: project})
		if err != nil {
			return err
		}
		l, _, _, err := s.sit(ctx, tx, c, seat.Address)
		if err != nil {
			return err
		}
		if !l.Began.Equal(seat.Began) || l.Thread != in.Thread {
			l = link{}
		}
		l.Address, l.Program, l.Began, l.Thread = seat.Address, c.Program, seat.Began, in.Thread
		l.describe(in)
		l.SeenAt, l.PurgeAt = now, now.Add(kept)
		write()
		links.Put(tx, linkID(seat.Address), l)
		threads.Put(tx, threadID(c, in), thread{Address: seat.Address, PurgeAt: l.PurgeAt})
		address = seat.Address
		return nil
	})
	return address, err
}

// begun returns the address of the client's session if a concurrent call of its thread has begun it, else an empty text.
func (s *Service) begun(ctx context.Context, tx *store.Tx, c identity.Caller, in wire.HookInput) (string, error) {
	var p thread
	if err := store.Load(ctx, tx, threads.Fetch(threadID(c, in), &p)); err != nil || p.Address == "" {
		return "", err
	}
	l, known, seat, err := s.sit(ctx, tx, c, p.Address)
	if v := (sight{link: l, known: known, seat: seat}); err != nil || !v.goesOn(in) {
		return "", err
	}
	return p.Address, nil
}

// write writes the changes of the call: the mail and answers that it hands over, the session's link, and the
// heartbeat.
func (s *Service) write(
	ctx context.Context, c identity.Caller, in wire.HookInput, v *sight, mine holdings, out *wire.HookOutput,
) error {
	h := handover{Service: s, caller: c, in: in, seat: v.seat, budget: in.MaxBytes, next: s.NewID(), claims: mine.now,
		telling: len(mine.told) > 0 && !v.link.tells(mine.now), out: out}
	if out.Pause != nil {
		h.budget = 0
	}
	since := s.Now().Sub(v.seat.Heard)
	due := since >= beatEvery || in.Doing != "" && in.Doing != v.seat.Doing && since >= beatNews
	beat := func(tx *store.Tx) {
		if due {
			v.seat.Beat(tx, in.Doing)
		}
	}
	l := v.link
	switch {
	case h.needed(v, l.describe(in)):
		return h.run(ctx, beat)
	case due:
		return s.DB.User(c.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
			beat(tx)
			return nil
		})
	}
	return nil
}

// leave confirms the receipt and counts the usage that a client's session brings at its end, and ends the session.
func (s *Service) leave(ctx context.Context, c identity.Caller, in wire.HookInput, v *sight, address string) error {
	if address == "" {
		return s.Ledger.Observe(ctx, c, in.SessionID, in.Usage)
	}
	mine, err := s.holdings(ctx, c, &v.link, v.leases, false)
	if err != nil {
		return err
	}
	if err := s.Ledger.Observe(ctx, c, address, withTask(in.Usage, mine.only)); err != nil {
		return err
	}
	if in.Receipt != "" {
		var ignored wire.HookOutput
		h := handover{Service: s, caller: c, in: in, seat: v.seat, claims: mine.now, out: &ignored}
		if err := h.run(ctx, func(*store.Tx) {}); err != nil {
			return err
		}
	}
	if err := s.release(ctx, c, address); err != nil {
		return err
	}
	return s.Sessions.Close(ctx, c, address)
}

// withTask returns the usage with the only task that the session holds where the client named none.
func withTask(usage []wire.Usage, only string) []wire.Usage {
	out := make([]wire.Usage, len(usage))
	for i, u := range usage {
		if u.TaskID == "" {
			u.TaskID = only
		}
		out[i] = u
	}
	return out
}

// judge decides about the files of the event, nil where it is about none.
func (s *Service) judge(ctx context.Context, c identity.Caller, in wire.HookInput, address string) (*wire.Files, error) {
	e := Edit{Project: in.Project, Worktree: in.Worktree, Branch: in.Branch, SessionID: address}
	if len(in.Changed)+len(in.Paths) > 0 && in.Project == "" {
		return nil, fault.Field("project", "is required with paths and changed: reservations belong to a project")
	}
	var out *wire.Files
	if in.Event == wire.Edit && len(in.Paths) > 0 {
		e.Paths = in.Paths
		decided, err := s.Files.Decide(ctx, c, e)
		if err != nil {
			return nil, err
		}
		out = &decided
	}
	if len(in.Changed) > 0 {
		e.Paths = in.Changed
		lines, err := s.Files.Changed(ctx, c, e)
		if err != nil {
			return nil, err
		}
		if len(lines) > 0 && out == nil {
			out = &wire.Files{Verdict: wire.Warn}
		}
		if len(lines) > 0 {
			out.Reason = append(out.Reason, lines...)
			if out.Verdict == wire.Pass {
				out.Verdict = wire.Warn
			}
		}
	}
	if out != nil {
		for i, text := range out.Reason {
			out.Reason[i] = line(text, 500)
		}
	}
	return out, nil
}
