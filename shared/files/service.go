package files

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"parley.internal/shared/fault"
	"parley.internal/shared/files/glob"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Service has the operations on the reservations of all users. Its methods may be called concurrently.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
	// Mail tells holders about the calls of others. Without it nobody is told.
	Mail Mail
	// Sessions reports the ended sessions. Without it reservations do not end with sessions.
	Sessions Sessions

	compiled compiled
}

// Mail sends messages of the system.
type Mail interface {
	// Notify sends a program a message as part of the transaction. The id is the message's.
	Notify(tx *store.Tx, id, program, text string, now time.Time)
	// Inbox returns the inbox of a program's session: its address if the session is live, and otherwise the program. Its
	// reads are part of a transaction.
	Inbox(ctx context.Context, r store.Reader, program, session string) (string, error)
}

// Sessions reports the state of sessions.
type Sessions interface {
	// Life prepares to read a program's session. After the fetches are loaded, read reports whether the session is
	// known to have ended, and when it was last heard of, zero if that is unknown.
	Life(program, session string) (fetches []*store.Fetch, read func() (ended bool, heard time.Time))
	// Wait calls check at once and after changes of the user's sessions, until it returns true or d is over.
	Wait(ctx context.Context, user string, d time.Duration, check func(context.Context) (bool, error)) error
}

// ServedByDefault reports that the tools are not served to callers that choose no toolset.
func (*Service) ServedByDefault() bool { return false }

// projectOf returns the normal form of a project's id: Unicode NFC, with the host in lower case and without the ending
// .git of an origin.
func projectOf(text string) (string, error) {
	id := norm.NFC.String(text)
	host, path, found := strings.Cut(id, "/")
	switch {
	case id == "":
		return "", fault.Field("project", "is required")
	case strings.Contains(id, "://"), strings.ContainsAny(host, "@:"), strings.HasPrefix(id, "/"):
		return "", fault.Field("project", "must be host/owner/name, without scheme, user and port, or the hash of a directory")
	case strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }):
		return "", fault.Field("project", "must have no spaces and no control characters")
	case !found:
		return id, nil
	}
	if name := strings.TrimSuffix(path, ".git"); name != "" && !strings.HasSuffix(name, "/") {
		path = name
	}
	return strings.ToLower(host) + "/" + path, nil
}

// normal returns the normal forms of patterns, each once. All that are malformed are told at once.
func normal(paths []string) ([]string, error) {
	out := make([]string, 0, len(paths))
	var wrong []fault.Problem
	for i, text := range paths {
		p, err := glob.Parse(text, false)
		if err != nil {
			wrong = append(wrong, fault.Problem{Path: fmt.Sprintf("paths[%d]", i), Message: err.Error()})
			continue
		}
		if !slices.Contains(out, p.String()) {
			out = append(out, p.String())
		}
	}
	if len(wrong) > 0 {
		return nil, fault.Problems(wrong...)
	}
	return out, nil
}

// read reads the stand of a board. Further fetches are loaded in the same round trip.
func (s *Service) read(ctx context.Context, r store.Reader, id string, now time.Time, more ...*store.Fetch) (*stand, error) {
	var (
		b Board
		l Renewals
		p Settings
	)
	more = append(more, boards.Fetch(id, &b), renewals.Fetch(id, &l), projects.Fetch(id, &p))
	if err := store.Load(ctx, r, more...); err != nil {
		return nil, err
	}
	st, err := open(b, l.Later, p, id, now)
	if err != nil {
		return nil, err
	}
	st.compiled = &s.compiled
	return st, nil
}

// write stores a board. Renewals are merged already.
func write(tx *store.Tx, b *stand) {
	boards.Put(tx, b.id, b.close())
	if b.renewed {
		renewals.Delete(tx, b.id)
	}
}

// prune removes from a board those of the given reservations whose session or task has ended, and reports whether there
// was one.
func (s *Service) prune(ctx context.Context, r store.Reader, b *stand, held []Reservation) (bool, error) {
	tasks, sessions := map[string]*task.Task{}, map[Holder]func() (bool, time.Time){}
	var fetches []*store.Fetch
	for _, h := range held {
		if h.TaskID != "" && tasks[h.TaskID] == nil {
			tasks[h.TaskID] = &task.Task{Status: task.Derezzed} // unless it exists
			fetches = append(fetches, task.Tasks.Fetch(h.TaskID, tasks[h.TaskID]))
		}
		if h.Session != "" && s.Sessions != nil && sessions[h.Holder] == nil {
			more, read := s.Sessions.Life(h.Program, h.Session)
			sessions[h.Holder], fetches = read, append(fetches, more...)
		}
	}
	if len(fetches) == 0 {
		return false, nil
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return false, err
	}
	ended := b.remove(func(h *Reservation) bool {
		if t := tasks[h.TaskID]; t != nil && t.Status.Ended() {
			return true
		}
		read := sessions[h.Holder]
		if read == nil {
			return false
		}
		over, _ := read()
		return over
	})
	return len(ended) > 0, nil
}

// decide returns the conflicts of a request. A reservation that ended with its session or task is none.
func (s *Service) decide(ctx context.Context, r store.Reader, b *stand, q *request, turn int) (
	against, beside []conflict, err error,
) {
	against, beside, err = b.conflicts(q, turn)
	if err != nil {
		return nil, nil, err
	}
	if ended, err := s.prune(ctx, r, b, heldBy(against)); err != nil || !ended {
		return against, beside, err
	}
	return b.conflicts(q, turn)
}

// heldBy returns the reservations of conflicts.
func heldBy(conflicts []conflict) (held []Reservation) {
	for _, c := range conflicts {
		if c.held != nil && c.held.bound() {
			held = append(held, *c.held)
		}
	}
	return held
}

// requestOf returns the request of a call. Malformed paths and projects are Invalid.
func requestOf(c identity.Caller, in ReserveInput) (project string, q *request, err error) {
	if project, err = projectOf(in.Project); err != nil {
		return "", nil, err
	}
	patterns, err := normal(in.Paths)
	if err != nil {
		return "", nil, err
	}
	return project, &request{holder: holderOf(c, in.SessionID), mode: in.Mode, patterns: patterns, reason: in.Reason,
		taskID: in.TaskID, worktree: in.Worktree, branch: in.Branch, lease: in.LeaseSeconds}, nil
}

// Reserve reserves all paths of a call or none. Paths that others hold are Precondition, with their holders; with
// WaitMs the call waits for its turn first. Repeated with the same idempotency key, it returns the first result.
func (s *Service) Reserve(ctx context.Context, c identity.Caller, in ReserveInput) (ReserveOutput, error) {
	project, q, err := requestOf(c, in)
	if err != nil {
		return ReserveOutput{}, err
	}
	if err := c.Paused("", project); err != nil { // under the name that it was normalized to
		return ReserveOutput{}, err
	}
	if in.DryRun {
		return s.try(ctx, c, project, q)
	}
	out, err := s.attempt(ctx, c, in, project, q)
	if in.WaitMs == 0 || !blocked(err) {
		return out, err
	}
	return s.wait(ctx, c, in, project, q)
}

// try returns the conflicts that a reservation would have, and changes nothing.
func (s *Service) try(ctx context.Context, c identity.Caller, project string, q *request) (ReserveOutput, error) {
	out, t := ReserveOutput{Project: project, DryRun: true, Reservations: []View{}}, s.DB.User(c.User)
	check := newTaskCheck(q.taskID)
	b, err := s.read(ctx, t, boardID(project), s.Now(), check.fetches...)
	if err != nil {
		return out, err
	}
	if err := check.err(); err != nil {
		return out, err
	}
	against, beside, err := s.decide(ctx, t, b, q, b.turn(q))
	if err != nil {
		return out, err
	}
	out.Conflicts, out.Warnings = views(b, q.patterns, against), warnings(q, beside)
	return out, nil
}

// attempt reserves the paths if nothing stands in their way. Otherwise it changes nothing, and the fault is one that
// blocked recognizes.
func (s *Service) attempt(
	ctx context.Context, c identity.Caller, in ReserveInput, project string, q *request,
) (ReserveOutput, error) {
	if _, err := op.Halt(ctx, c); err != nil { // the caller may have been paused while it waited
		return ReserveOutput{}, err
	}
	now, id := s.Now(), boardID(project)
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(ctx context.Context, tx *store.Tx) (ReserveOutput, error) {
		out, check := ReserveOutput{Project: project}, newTaskCheck(q.taskID)
		sessions, over := s.over(q.holder)
		b, err := s.read(ctx, tx, id, now, append(sessions, check.fetches...)...)
		if err != nil {
			return out, err
		}
		if err := check.err(); err != nil {
			return out, err
		}
		if over() {
			return out, fault.New(fault.Precondition,
				"the session %q has ended; reserve in one that is live, or without sessionId", q.holder.Session)
		}
		b.Project = project
		against, beside, err := s.decide(ctx, tx, b, q, b.turn(q))
		if err != nil {
			return out, err
		}
		if len(against) > 0 {
			return out, refusal(b, q, against, time.Duration(in.WaitMs)*time.Millisecond)
		}
		tokens, fresh, err := b.take(q)
		if err != nil {
			return out, err
		}
		for _, token := range tokens {
			out.Reservations = append(out.Reservations, view(b.id, *b.find(token)))
		}
		out.Warnings = warnings(q, beside)
		if fresh > 0 {
			s.tellBeside(tx, b, q, beside)
		}
		write(tx, b)
		return out, nil
	})
}

// over returns the fetches that tell whether the session of a holder has ended, and a function that reports it once
// they are loaded.
func (s *Service) over(h Holder) (fetches []*store.Fetch, ended func() bool) {
	if h.Session == "" || s.Sessions == nil {
		return nil, func() bool { return false }
	}
	fetches, read := s.Sessions.Life(h.Program, h.Session)
	return fetches, func() bool {
		over, _ := read()
		return over
	}
}

// maxTold is the number of programs that one call's message about other worktrees goes to.
const maxTold = 10

// tellBeside tells the programs that hold the same paths in other worktrees.
func (s *Service) tellBeside(tx *store.Tx, b *stand, q *request, beside []conflict) {
	told := []string{q.holder.Program}
	for _, c := range beside {
		box := c.held.Holder.Program
		if s.Mail == nil || len(told) > maxTold || !identity.ValidName(box) || slices.ContainsFunc(told, func(name string) bool {
			return identity.Same(name, box)
		}) {
			continue
		}
		told = append(told, box)
		s.Mail.Notify(tx, fmt.Sprintf("files-%s-%d-%d", b.id, b.Token, len(told)), box, fmt.Sprintf(
			"%s has reserved %s of %s in %s. You hold %s in %s: the two will meet when they are merged.",
			q.holder.who(), q.patterns[c.path], b.Project, place(q.worktree, q.branch), c.held.Pattern,
			place(c.held.Worktree, c.held.Branch)), b.now)
	}
}

// taskCheck reads the task that a reservation ends with.
type taskCheck struct {
	id      string
	task    task.Task
	fetches []*store.Fetch
}

func newTaskCheck(id string) *taskCheck {
	t := &taskCheck{id: id}
	if id != "" {
		t.fetches = []*store.Fetch{task.Tasks.Fetch(id, &t.task)}
	}
	return t
}

// err returns NotFound if there is no such task, and Precondition if it has ended.
func (t *taskCheck) err() error {
	switch {
	case t.id == "":
		return nil
	case !t.fetches[0].Found:
		return fault.New(fault.NotFound, "no task with id %q", t.id)
	case t.task.Status.Ended():
		return fault.New(fault.Precondition, "the task %q has ended as %s; reserve without taskId", t.id, t.task.Status)
	}
	return nil
}
