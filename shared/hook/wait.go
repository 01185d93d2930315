package hook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// maxWakes is the number of reasons to wake that an output has for a session.
const maxWakes = 10

// Wait returns the state of the sessions whose state differs from the given one, and waits for such a change if there
// is none. It marks nothing as read. Sessions of another program are Forbidden.
func (s *Service) Wait(ctx context.Context, c identity.Caller, in wire.WaitInput) (wire.WaitOutput, error) {
	out := wire.WaitOutput{Version: wire.Version, Sessions: []wire.Changed{}}
	if err := served(c); err != nil {
		return out, err
	}
	since := map[string]string{}
	w := &watched{Service: s, caller: c}
	for _, each := range in.Sessions {
		if err := c.MayUse(each.SessionID); err != nil {
			return out, err
		}
		address := identity.Address(c.Program, each.SessionID)
		if _, twice := since[address]; twice {
			return out, fault.Field("sessions", "has %s twice", address)
		}
		since[address] = each.Since
		w.addresses = append(w.addresses, address)
	}
	look := func(ctx context.Context) (bool, error) {
		now, err := w.read(ctx)
		out.Sessions = slices.DeleteFunc(now, func(v wire.Changed) bool { return v.Since == since[v.SessionID] })
		for _, d := range w.questions { // an answer that was told and is not confirmed is told again
			if until := d.Value.AnswerDueAt.Sub(s.Now()); until > 0 {
				store.CheckAgain(ctx, until)
			}
		}
		return len(out.Sessions) > 0, err
	}
	if changed, err := look(ctx); changed || err != nil || in.WaitMs == 0 {
		return out, err
	}
	d := time.Duration(in.WaitMs) * time.Millisecond
	err := store.WaitAny(ctx, look,
		func(ctx context.Context, check func(context.Context) (bool, error)) error {
			return s.Mail.WaitFor(ctx, c.User, append([]string{c.Program}, w.addresses...), d, check)
		},
		func(ctx context.Context, check func(context.Context) (bool, error)) error {
			return task.Tasks.Wait(ctx, s.DB.User(c.User), nil, d, check)
		},
		func(ctx context.Context, check func(context.Context) (bool, error)) error {
			return s.Pauses.Wait(ctx, c.User, d, check)
		})
	return out, err
}

// watched are the sessions of one wait, and their data, which is read at once.
type watched struct {
	*Service
	caller    identity.Caller
	addresses []string

	links     []link
	linked    []*store.Fetch
	seats     []func() Seat
	letters   []Letter
	questions []store.Doc[task.Task]
	leases    []store.Doc[task.Lease]
	queue     []store.Doc[task.Task]
	pauses    []identity.Pause
}

// The numbers of addresses in one query. A query has at most 30 values; an address has two names in claims, and mail may
// lie under two spellings of it.
const (
	perQuery     = 14
	perQuestions = 29
)

// read returns the state of all sessions.
func (w *watched) read(ctx context.Context) ([]wire.Changed, error) {
	w.letters, w.questions, w.leases = nil, nil, nil
	t, c := w.DB.User(w.caller.User), w.caller
	var mail [][]Letter
	var claims [][]store.Doc[task.Lease]
	var questions [][]store.Doc[task.Task]
	reads := []func() error{
		func() error { return w.sit(ctx, t) },
		func() (err error) { w.pauses, err = w.Pauses.InForce(ctx, c.User); return err },
		func() (err error) { w.queue, err = queued(ctx, t, c.Program, w.Now(), 1+maxWakes); return err },
	}
	for part := range slices.Chunk(w.addresses, perQuery) {
		i := len(mail)
		mail, claims = append(mail, nil), append(claims, nil)
		reads = append(reads,
			func() (err error) { mail[i], err = w.Mail.Due(ctx, t, part, 4*most); return err },
			func() (err error) { claims[i], err = w.leasesOf(ctx, t, part); return err })
	}
	i := len(mail)
	mail = append(mail, nil)
	reads = append(reads, func() (err error) { mail[i], err = w.Mail.Due(ctx, t, []string{c.Program}, most); return err })
	for part := range slices.Chunk(append([]string{c.Program}, w.addresses...), perQuestions) {
		i := len(questions)
		questions = append(questions, nil)
		reads = append(reads, func() (err error) { questions[i], err = asked(ctx, t, part); return err })
	}
	if err := together(reads...); err != nil {
		return nil, err
	}
	w.letters, w.leases, w.questions = slices.Concat(mail...), slices.Concat(claims...), slices.Concat(questions...)
	return w.states(ctx)
}

// sit reads the sessions and their links.
func (w *watched) sit(ctx context.Context, t *store.Tenant) error {
	w.links, w.linked, w.seats = make([]link, len(w.addresses)), nil, nil
	var fetches []*store.Fetch
	for i, address := range w.addresses {
		more, read := w.Sessions.Seat(w.caller, address)
		w.linked = append(w.linked, links.Fetch(linkID(address), &w.links[i]))
		fetches, w.seats = append(fetches, more...), append(w.seats, read)
	}
	return store.Load(ctx, t, append(fetches, w.linked...)...)
}

// leasesOf returns the claims of some sessions.
func (w *watched) leasesOf(ctx context.Context, t *store.Tenant, addresses []string) ([]store.Doc[task.Lease], error) {
	var names []string
	for _, address := range addresses {
		names = append(names, w.Sessions.Names(address)...)
	}
	page, err := task.Leases.Query(ctx, t, store.Query{Where: []store.Cond{store.In("sessionId", names...)},
		Limit: store.MaxLimit})
	return page.Docs, err
}

// states returns the state of each session.
func (w *watched) states(ctx context.Context) ([]wire.Changed, error) {
	gone, err := w.gone(ctx)
	if err != nil {
		return nil, err
	}
	may := &mayWake{watched: w}
	out := make([]wire.Changed, len(w.addresses))
	for i, address := range w.addresses {
		v := wire.Changed{SessionID: address}
		seat := w.seats[i]()
		if !seat.Live || !seat.Mine {
			v.Ended = true
			out[i] = seal(v, nil)
			continue
		}
		v.Lost = gone[address]
		v.Tasks = len(w.queue) > 0
		c := w.caller
		c.Session = address
		v.Pause = (&sight{pauses: w.pauses}).pause(c, w.links[i].Project)
		ids, err := w.mail(ctx, may, &v, &w.links[i])
		if err != nil {
			return nil, err
		}
		out[i] = seal(v, ids)
	}
	return out, nil
}

// mail sets the counts of mail and answers and the reasons to wake. It returns the ids of the counted messages and
// answers.
func (w *watched) mail(ctx context.Context, may *mayWake, v *wire.Changed, l *link) (ids []string, err error) {
	now := w.Now()
	answers := []wire.Wake{}
	for _, d := range w.questions {
		if t := d.Value; untold(&t, now) && w.reads(v.SessionID, t.AnswerBox) {
			v.Answers++
			ids = append(ids, d.ID+t.AnswerReceipt)
			answers = append(answers, wire.Wake{ID: d.ID, From: t.Question.AnsweredBy, Verified: true, Kind: "ANSWER",
				To: w.box(v.SessionID, t.AnswerBox), Summary: line(t.Question.Response, wire.MaxSummary), May: true})
		}
	}
	v.Wakes = answers[:min(len(answers), maxWakes)]
	letters := w.lettersOf(v.SessionID)
	for _, m := range letters {
		v.Mail++
		if m.Urgent {
			v.Urgent++
		}
		ids = append(ids, m.ID)
		if len(v.Wakes) < maxWakes {
			wake := wire.Wake{ID: m.ID, From: line(m.From, 200), Verified: m.Verified, Human: m.Human, To: m.Target, Kind: m.Type,
				Summary: line(m.Text, wire.MaxSummary)}
			if m.Human {
				wake.Kind = "HUMAN"
			}
			if wake.May, err = may.letter(ctx, m, l); err != nil {
				return nil, err
			}
			v.Wakes = append(v.Wakes, wake)
		}
	}
	for _, d := range w.queue[:min(len(w.queue), 1)] {
		if len(v.Wakes) < maxWakes {
			t := d.Value
			from := Letter{Source: t.Source, Verified: t.Verified, Human: t.Owner().Human}
			wake := wire.Wake{ID: d.ID, From: line(t.Source, 200), Verified: t.Verified, Human: from.Human, To: w.caller.Program,
				Kind: "TASK", Summary: line(t.Title, wire.MaxSummary)}
			if wake.May, err = may.letter(ctx, from, l); err != nil {
				return nil, err
			}
			v.Wakes = append(v.Wakes, wake)
			ids = append(ids, d.ID)
		}
	}
	return ids, nil
}

// lettersOf returns the mail that a session reads, most urgent first.
func (w *watched) lettersOf(address string) []Letter {
	var out []Letter
	for _, m := range w.letters {
		if w.reads(address, m.Target) && len(out) < most {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Letter) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return out
}

// rank orders mail as an inbox does.
func rank(m Letter) int { return task.Priority(m.Priority).Rank() }

// reads reports whether a session reads an inbox.
func (w *watched) reads(address, box string) bool {
	return identity.Same(address, box) || identity.Same(w.caller.Program, box)
}

// box returns the name of an inbox that a session reads.
func (w *watched) box(address, box string) string {
	if identity.Same(address, box) {
		return address
	}
	return w.caller.Program
}

// gone returns the tasks that sessions do not hold any more and were not told of.
func (w *watched) gone(ctx context.Context) (map[string][]string, error) {
	var ids []string
	missing := map[string][]string{}
	for i, address := range w.addresses {
		l := &w.links[i]
		for _, k := range l.Told {
			held := slices.ContainsFunc(w.leases, func(d store.Doc[task.Lease]) bool {
				return d.ID == k.TaskID && identity.SameSession(w.caller.Program, d.Value.SessionID, address)
			})
			if !held && len(missing[address]) < mostClaims {
				ids, missing[address] = append(ids, k.TaskID), append(missing[address], k.TaskID)
			}
		}
	}
	tasks, err := loadTasks(ctx, w.DB.User(w.caller.User), ids)
	if err != nil {
		return nil, err
	}
	for address, all := range missing {
		missing[address] = slices.DeleteFunc(all, func(id string) bool { return whyLost(tasks[id], w.caller) == "" })
	}
	return missing, nil
}

// seal sets the mark of a state: a digest of the state and of the ids that it counts.
func seal(v wire.Changed, ids []string) wire.Changed {
	v.Since = ""
	slices.Sort(ids)
	text, err := json.Marshal(struct {
		State wire.Changed
		IDs   []string
	}{v, ids})
	if err != nil {
		panic("hook: " + err.Error()) // texts, numbers and times
	}
	sum := sha256.Sum256(text)
	v.Since = base64.RawURLEncoding.EncodeToString(sum[:12])
	return v
}

// mayWake decides who may wake a session. It asks each thing once.
type mayWake struct {
	*watched
	// near are the programs at work in a project, wrote those that the caller's program wrote to or shares a team with.
	near  map[string][]string
	wrote map[string]bool
}

// letter reports whether a sender may wake the session of a link: a person, the hub itself, its own program, and, where
// the server verifies its name, a program at work in its project, one of its team, or one that its program wrote to.
func (w *mayWake) letter(ctx context.Context, m Letter, l *link) (bool, error) {
	switch {
	case m.Human || m.System:
		return true, nil
	case !m.Verified:
		return false, nil
	case identity.Same(m.Source, w.caller.Program):
		return true, nil
	}
	if near, err := w.beside(ctx, m.Source, l.Project); near || err != nil {
		return near, err
	}
	if known, asked := w.wrote[m.Source]; asked {
		return known, nil
	}
	known, err := w.Mail.WroteTo(ctx, w.caller.User, w.caller.Program, m.Source)
	if err == nil && !known {
		known, err = w.Teams.Share(ctx, w.caller.User, w.caller.Program, m.Source)
	}
	if w.wrote == nil {
		w.wrote = map[string]bool{}
	}
	w.wrote[m.Source] = known
	return known, err
}

// beside reports whether a program is at work in a project.
func (w *mayWake) beside(ctx context.Context, program, project string) (bool, error) {
	if project == "" {
		return false, nil
	}
	if _, known := w.near[project]; !known {
		found, err := inProject(ctx, w.DB.User(w.caller.User), project)
		if err != nil {
			return false, err
		}
		if w.near == nil {
			w.near = map[string][]string{}
		}
		w.near[project] = []string{}
		for _, d := range found {
			if w.Now().Sub(d.Value.SeenAt) < oneDay {
				w.near[project] = append(w.near[project], d.Value.Program)
			}
		}
	}
	_, at := identity.Among(w.near[project], program)
	return at, nil
}

const oneDay = 24 * time.Hour
