package connectd

import (
	"context"
	"errors"
	"time"

	"parley.internal/services/hub/internal/checkout/snapshot"
	"parley.internal/services/hub/internal/hook"
	state "parley.internal/services/hub/internal/hook/session"
	"parley.internal/shared/files/glob"
	"parley.internal/shared/hook/wire"
)

// The bounds of looking at a worktree around a command: the time for it, the time for which a worktree that takes longer is left
// alone, how many are looked at at once, how many commands of a session are, and how many files one is told to have changed.
const (
	lookFor     = 2 * time.Second
	leaveAlone  = 10 * time.Minute
	looks       = 2
	maxCommands = 20
	maxTold     = 1000
	maxPath     = 300
	perCall     = 100
)

// command is a call of a shell that the client runs. What it changes cannot be seen before, so the worktree is looked at beside
// the answers to the hooks before and after it.
type command struct {
	dir      string
	repo     state.Repository
	snapshot snapshot.Snapshot
	// taken is closed when the snapshot was taken, or failed with err.
	taken chan struct{}
	err   error
}

// changes are files that a command has changed and the server is to know.
type changes struct {
	repo  state.Repository
	files []string
}

// follow begins and ends the records of the session's commands and edits at an event. The caller holds the session.
func (s *session) follow(call hook.Call, at time.Time) {
	switch call.Kind {
	case hook.Before:
		if call.Shell && s.st.Pause == nil {
			s.begin(call.Use, at)
		}
	case hook.After:
		if call.Shell {
			s.compare(call.Use)
		}
		if call.Use != "" {
			s.daemon.authors.end(s.id, call.Use)
		}
	case hook.Start, hook.Resume, hook.Prompt, hook.Turn, hook.Interrupt, hook.End:
		for use := range s.commands {
			s.compare(use)
		}
		s.daemon.authors.end(s.id, "")
	}
}

// edits takes in that an edit was let pass. The caller holds the session.
func (s *session) edits(call hook.Call, out *wire.HookOutput) {
	refused := s.st.Pause != nil || out == nil && s.st.Repo.Strict() || out != nil && out.Files != nil && out.Files.Verdict == wire.Deny
	if files := s.st.Repo.Files(s.st.Dir, call.Paths); !refused && len(files) > 0 {
		s.daemon.authors.begin(change{session: s.id, use: call.Use, root: s.st.Repo.Root, files: files, from: time.Now()})
	}
}

// begin looks at the worktree at the beginning of a command. The caller holds the session.
func (s *session) begin(use string, at time.Time) {
	if len(s.commands) >= maxCommands || s.st.Dir == "" {
		return
	}
	c := &command{dir: s.st.Dir, taken: make(chan struct{}), snapshot: snapshot.Snapshot{Since: at}}
	if s.st.Repo.Dir == s.st.Dir {
		if s.st.Repo.Root == "" {
			return // there is no repository
		}
		c.repo = s.st.Repo
		c.snapshot.Head = c.repo.Head()
	}
	s.commands[use] = c
	s.daemon.work.Go(func() {
		defer close(c.taken)
		c.err = s.daemon.look(func(ctx context.Context) error { return s.daemon.take(ctx, c) })
	})
}

var errNoRepository = errors.New("the command runs in no repository")

// take takes the snapshot of a command.
func (d *Daemon) take(ctx context.Context, c *command) error {
	if c.repo.Dir == "" {
		repo, ok := state.Locate(ctx, c.dir)
		if !ok {
			return ctx.Err()
		}
		c.repo = repo
	}
	if c.snapshot.Root = c.repo.Root; c.repo.Root == "" {
		return errNoRepository
	}
	return d.patient(c.repo.Root, func() error { return c.snapshot.Take(ctx) })
}

// look runs one of the looks at worktrees, when it is its turn.
func (d *Daemon) look(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(d.ctx, lookFor)
	defer cancel()
	select {
	case d.looks <- struct{}{}:
		defer func() { <-d.looks }()
		return f(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errLarge = errors.New("the worktree is large; it is left alone for a while")

// patient looks at a worktree unless that took too long, or there was too much, a while ago.
func (d *Daemon) patient(root string, look func() error) error {
	d.mu.Lock()
	until := d.large[root]
	d.mu.Unlock()
	if time.Now().Before(until) {
		return errLarge
	}
	err := look()
	if errors.Is(err, snapshot.ErrTooMany) || errors.Is(err, context.DeadlineExceeded) {
		d.mu.Lock()
		d.large[root] = time.Now().Add(leaveAlone)
		d.mu.Unlock()
		d.log("what commands change in %s is not looked at for %v: %v", root, leaveAlone, err)
	}
	return err
}

// compare finds the files that a command which is over has changed, beside the answer to the hook. The caller holds the session.
func (s *session) compare(use string) {
	c := s.commands[use]
	if c == nil {
		return
	}
	delete(s.commands, use)
	s.comparing++
	s.daemon.work.Go(func() {
		files := s.daemon.changedBy(s.id, c)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(files) > 0 && len(s.changes) < maxCommands {
			s.changes = append(s.changes, changes{c.repo, files})
		}
		if s.comparing--; s.comparing == 0 {
			close(s.compared)
			s.compared = make(chan struct{})
		}
		s.stir()
	})
}

// changedBy returns the files that a command has changed and that nobody else is known to have changed meanwhile.
func (d *Daemon) changedBy(id string, c *command) (files []string) {
	select {
	case <-c.taken:
	case <-d.ctx.Done():
		return nil
	}
	if c.err != nil {
		return nil
	}
	err := d.look(func(ctx context.Context) error {
		return d.patient(c.repo.Root, func() (err error) {
			files, err = c.snapshot.Changed(ctx)
			return err
		})
	})
	if err != nil {
		return nil
	}
	var good []string
	for _, f := range files {
		if _, err := glob.Path(f, false); err == nil && len(f) <= maxPath && len(good) < maxTold {
			good = append(good, f)
		}
	}
	return d.authors.claim(id, c.repo.Root, good, c.snapshot.Since)
}

// tell tells the server of files that a command has changed. The caller holds the session.
func (s *session) tell(ctx context.Context) error {
	first := s.changes[0]
	in := s.st.Input(hook.Call{}, wire.Tool, 0)
	in.Project, in.Worktree, in.Branch = first.repo.Project, first.repo.Worktree, first.repo.Branch()
	in.Changed = first.files[:min(len(first.files), perCall)]
	if _, err := s.call(ctx, wire.Tool, in); err != nil && !isRefusal(err) {
		return err
	}
	if s.changes[0].files = first.files[len(in.Changed):]; len(s.changes[0].files) == 0 {
		s.changes = s.changes[1:]
	}
	return nil
}

// last tells the server of the last commands of a session that ends. It is not waited for long, and a failure is not repeated. The
// caller holds the session, which is given up meanwhile.
func (s *session) last(ctx context.Context) {
	for s.comparing > 0 && ctx.Err() == nil {
		over := s.compared
		s.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	for len(s.changes) > 0 && s.st.SessionID != "" && s.reach(ctx) == nil && s.tell(ctx) == nil {
	}
	s.changes = nil
}
