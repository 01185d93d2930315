package hook

import (
	"context"
	"sync"
	"time"

	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// most is the number of messages, of answers and of tasks that a call counts, and mostClaims that of the claims of a
// session that it reads.
const (
	most       = 50
	mostClaims = 20
	mostOthers = 10
)

// sight is the data that a call reads before it changes anything.
type sight struct {
	link  link
	known bool // whether there is a link
	seat  Seat

	letters   []Letter
	questions []store.Doc[task.Task]
	leases    []store.Doc[task.Lease]
	waiting   int // tasks in the queue
	links     []store.Doc[link]
	held      map[string][]string
	pauses    []identity.Pause
}

// introduces reports whether an event tells the agent its address and its surroundings: all its claims and the
// project's other sessions.
func introduces(e wire.Event) bool { return e == wire.Start || e == wire.Resume || e == wire.Compact }

// counts reports whether an event counts tasks and open questions.
func counts(e wire.Event) bool {
	return introduces(e) || e == wire.Prompt || e == wire.Turn || e == wire.Read
}

// look reads everything that the call needs, at once.
func (s *Service) look(ctx context.Context, c identity.Caller, address string, in wire.HookInput) (v sight, err error) {
	t := s.DB.User(c.User)
	reads := []func() error{
		func() (err error) { v.link, v.known, v.seat, err = s.sit(ctx, t, c, address); return err },
		func() (err error) { v.letters, err = s.Mail.Due(ctx, t, boxes(c, address), most); return err },
		func() (err error) { v.questions, err = asked(ctx, t, boxes(c, address)); return err },
		func() (err error) { v.leases, err = s.leases(ctx, t, c, address); return err },
		func() (err error) { v.pauses, err = s.Pauses.Known(ctx, c.User); return err },
	}
	if counts(in.Event) {
		reads = append(reads, func() error {
			queue, err := queued(ctx, t, c.Program, s.Now(), most)
			v.waiting = len(queue)
			return err
		})
	}
	if introduces(in.Event) && in.Project != "" {
		reads = append(reads,
			func() (err error) { v.links, err = inProject(ctx, t, in.Project); return err },
			func() (err error) { v.held, err = s.Files.Held(ctx, c, in.Project); return err })
	}
	return v, together(reads...)
}

// together calls functions concurrently and returns the error of the first of them that failed.
func together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// boxes returns the inboxes that a session reads: its own and its program's.
func boxes(c identity.Caller, address string) []string { return []string{address, c.Program} }

// sit reads a session with its link.
func (s *Service) sit(ctx context.Context, r store.Reader, c identity.Caller, address string) (
	l link, known bool, seat Seat, err error,
) {
	fetches, read := s.Sessions.Seat(c, address)
	mine := links.Fetch(linkID(address), &l)
	if err := store.Load(ctx, r, append(fetches, mine)...); err != nil {
		return l, false, seat, err
	}
	return l, mine.Found, read(), nil
}

// asked returns the questions of some inboxes that are open or have an answer that was not told, newest first.
func asked(ctx context.Context, r store.Reader, inboxes []string) ([]store.Doc[task.Task], error) {
	folded := make([]string, len(inboxes))
	for i, box := range inboxes {
		folded[i] = identity.Fold(box)
	}
	page, err := task.Tasks.Query(ctx, r, store.Query{Where: []store.Cond{store.In("answerBox", folded...)},
		Order: []string{"createdAt desc"}, Limit: most})
	return page.Docs, err
}

// leases returns the claims of a session.
func (s *Service) leases(ctx context.Context, r store.Reader, c identity.Caller, address string) (
	[]store.Doc[task.Lease], error,
) {
	page, err := task.Leases.Query(ctx, r, store.Query{Limit: most,
		Where: []store.Cond{store.In("sessionId", s.Sessions.Names(address)...)}})
	var out []store.Doc[task.Lease]
	for _, d := range page.Docs {
		if identity.Same(d.Value.ClaimedBy, c.Program) && len(out) < mostClaims {
			out = append(out, d)
		}
	}
	return out, err
}

// queued returns the tasks that a program may claim, most urgent first.
func queued(ctx context.Context, r store.Reader, program string, now time.Time, limit int) (
	out []store.Doc[task.Task], err error,
) {
	page, err := task.Tasks.Query(ctx, r, store.Query{Order: []string{"rank desc", "createdAt"}, Limit: limit,
		Where: []store.Cond{store.Eq("status", task.Created), task.Targets(program)}})
	for _, d := range page.Docs {
		if t := d.Value; !t.Expired(now) && (t.Type == task.Work || t.Type == task.Dream) {
			out = append(out, d)
		}
	}
	return out, err
}

// inProject returns the links of a project that were seen last.
func inProject(ctx context.Context, r store.Reader, project string) ([]store.Doc[link], error) {
	page, err := links.Query(ctx, r, store.Query{Where: []store.Cond{store.Eq("project", project)},
		Order: []string{"seenAt desc"}, Limit: 3 * mostOthers})
	return page.Docs, err
}

// pause returns the first pause in force for the session, nil if there is none.
func (v *sight) pause(c identity.Caller, project string) *wire.Pause {
	for _, p := range v.pauses {
		if p.Halts(c, c.Team, project) {
			return &wire.Pause{Words: clean(p.Words), By: p.By, Since: p.At, Of: p.String()}
		}
	}
	return nil
}

// open reports whether a question waits for its answer.
func open(t *task.Task, now time.Time) bool { return t.Status == task.Created && !t.Expired(now) }

// untold reports whether a question has an answer that is due to be told.
func untold(t *task.Task, now time.Time) bool {
	return t.Status == task.Done && t.Question != nil && !now.Before(t.AnswerDueAt)
}

// count returns the counts of the mail, answers, tasks and questions that wait for the session.
func (v *sight) count(in wire.HookInput, now time.Time) wire.Waiting {
	w := wire.Waiting{Mail: len(v.letters), Tasks: v.waiting, Held: len(v.leases)}
	for _, l := range v.letters {
		if l.Urgent {
			w.Urgent++
		}
	}
	for _, d := range v.questions {
		switch {
		case untold(&d.Value, now):
			w.Answers++
		case open(&d.Value, now) && counts(in.Event):
			w.Questions++
		}
	}
	return w
}
