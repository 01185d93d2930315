package team

import (
	"context"
	"slices"
	"strconv"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Archive is all of a team, in the shapes of the reference.
type Archive struct {
	Config
	// Inboxes are messages by the member's name, oldest first. Their ids are not moved:
	// an inbox counts anew.
	Inboxes map[string][]Message
	Tasks   []Task
}

// maxInboxes is how many inboxes are moved, of members and of who once was one.
const maxInboxes = 400

// importing is how long an import may take before the sweep clears away what it left.
const importing = 24 * time.Hour

// Import makes a team of an archive. The caller leads it where its key is bound to a
// program; else nobody's place is taken. What is wrong with the archive is Invalid. All
// of it is there, or nothing that a call could see.
func (s *Service) Import(ctx context.Context, c identity.Caller, a Archive) error {
	b, err := a.check()
	if err != nil {
		return err
	}
	d := document{Config: a.Config, ID: s.NewID(), Owner: "import:" + a.Name}
	if c.Bound() {
		d.Owner = leader(c)
	}
	now, t := s.Now(), s.DB.User(c.User)
	if err := mayCreate(ctx, t, d.Owner, d.Name); err != nil {
		return err
	}
	// The deletion is written first and taken back last, so that the sweep deletes what an interrupted import leaves.
	parts := [][]piece{{{run: func(tx *store.Tx) { deletions.Put(tx, d.ID, deletion{DueAt: now.Add(importing)}) }}}}
	pieces, err := a.pieces(&d)
	if err != nil {
		return err
	}
	for _, some := range append(parts, split(pieces)...) {
		err := t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
			for _, p := range some {
				p.run(tx)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := mayCreate(ctx, tx, d.Owner, d.Name); err != nil {
			return err
		}
		place(tx, d, b)
		for agent, list := range a.Inboxes {
			inboxes.Put(tx, memberID(d.Name, agent), inbox{TeamID: d.ID, Agent: agent, Last: int64(len(list))})
		}
		deletions.Delete(tx, d.ID)
		return nil
	})
}

// piece is a document of an archive: how to write it, and about how large it is.
type piece struct {
	run  func(*store.Tx)
	size int
}

// pieces are all documents of an archive below its team, which loses its prompts to them.
func (a *Archive) pieces(d *document) (out []piece, err error) {
	d.Members = slices.Clone(d.Members)
	for i := range d.Members {
		m := &d.Members[i]
		if m.Name == Lead {
			continue
		}
		prompt := instruction{value(m.Prompt)}
		m.Prompt = nil
		out = append(out, piece{func(tx *store.Tx) { prompts.Under(d.ID).Put(tx, promptID(m.Name), prompt) },
			len(prompt.Prompt)})
	}
	for _, task := range a.Tasks {
		said := text{task.Subject, task.Description, task.ActiveForm, nil}
		if said.Metadata, err = merge(nil, task.Metadata); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "task %s", task.ID)
		}
		out = append(out, piece{func(tx *store.Tx) { texts.Under(d.ID).Put(tx, task.ID, said) },
			len(said.Subject) + len(said.Description) + len(said.ActiveForm) + len(said.Metadata)})
	}
	for agent, list := range a.Inboxes {
		for i, m := range list {
			seq := int64(i + 1)
			m.ID = messageID(seq)
			out = append(out, piece{func(tx *store.Tx) {
				messages.Under(d.ID).Put(tx, keptID(seq, agent), kept{Message: m, Agent: agent, Seq: seq})
			}, len(m.Text) + len(m.Summary)})
		}
	}
	return out, nil
}

// maxPart is about how many bytes one transaction of an import writes, well below what a
// request to Firestore may have.
const maxPart = 2 << 20

// split makes parts of pieces, each small enough for one transaction.
func split(pieces []piece) (parts [][]piece) {
	size := 0
	for _, p := range pieces {
		if len(parts) == 0 || len(parts[len(parts)-1]) == clearPage || size+p.size > maxPart {
			parts, size = append(parts, nil), 0
		}
		last := &parts[len(parts)-1]
		*last = append(*last, p)
		size += p.size
	}
	return parts
}

// check is the archive's board, or what is wrong with it.
func (a *Archive) check() (b Board, err error) {
	if err := checkName(a.Name); err != nil {
		return b, err
	}
	if len(a.Members) > MaxMembers || len(a.Inboxes) > maxInboxes || len(a.Tasks) > MaxTasks {
		return b, fault.New(fault.Invalid,
			"a team has at most %d members, %d inboxes and %d tasks; this one has %d, %d and %d",
			MaxMembers, maxInboxes, MaxTasks, len(a.Members), len(a.Inboxes), len(a.Tasks))
	}
	if a.Member(Lead) == nil {
		return b, fault.New(fault.Invalid, "the team has no member named %s", Lead)
	}
	seen := map[string]bool{}
	for _, m := range a.Members {
		if seen[m.Name] {
			return b, fault.New(fault.Invalid, "Member '%s' already exists in team '%s'", m.Name, a.Name)
		}
		seen[m.Name] = true
		if err := checkNameOf("agent", "Agent", m.Name); err != nil {
			return b, err
		}
	}
	for agent := range a.Inboxes {
		if err := checkNameOf("agent", "Agent", agent); err != nil {
			return b, err
		}
	}
	return a.board()
}

// board is the graph of the archive's tasks.
func (a *Archive) board() (b Board, err error) {
	b.Tasks = []Node{}
	for _, t := range a.Tasks {
		n := Node{Status: t.Status, Owner: t.Owner}
		if n.ID, err = number(t.ID); err != nil {
			return b, err
		}
		if !slices.Contains(stages, t.Status) {
			return b, fault.Wrap(fault.Invalid, errStatus(t.Status), "task %s", t.ID)
		}
		for _, list := range []struct {
			from []string
			to   *[]int64
		}{{t.Blocks, &n.Blocks}, {t.BlockedBy, &n.BlockedBy}} {
			for _, other := range list.from {
				id, err := number(other)
				if err != nil {
					return b, err
				}
				*list.to = append(*list.to, id)
			}
		}
		b.Tasks, b.LastID = append(b.Tasks, n), max(b.LastID, n.ID)
	}
	slices.SortFunc(b.Tasks, func(x, y Node) int { return int(x.ID - y.ID) })
	return b, b.sound()
}

// number is the id that a text is, as ids are written.
func number(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || taskID(id) != text || id > 1<<52 {
		return 0, fault.New(fault.Invalid, "%.40q is not the id of a task: a number from 1 on", text)
	}
	return id, nil
}

// sound says what is wrong with a board that was made elsewhere, or nil.
func (b *Board) sound() error {
	edges := 0
	for i := range b.Tasks {
		n := &b.Tasks[i]
		if i > 0 && b.Tasks[i-1].ID == n.ID {
			return fault.New(fault.Invalid, "there are two tasks %d", n.ID)
		}
		for _, id := range slices.Concat(n.Blocks, n.BlockedBy) {
			if b.find(id) == nil {
				return fault.New(fault.Invalid, "task %d: Referenced task %d does not exist", n.ID, id)
			}
		}
		if b.waitsFor(n, n.ID) {
			return fault.New(fault.Invalid, "task %d waits for itself: its blockedBy is a circular dependency", n.ID)
		}
		edges += len(n.BlockedBy)
	}
	if edges > MaxEdges {
		return fault.New(fault.Invalid, "A team's tasks have at most %d dependencies, not %d", MaxEdges, edges)
	}
	return nil
}

// Export reads all of a team. What is written meanwhile may be in it or not.
func (s *Service) Export(ctx context.Context, c identity.Caller, name string) (Archive, error) {
	a := Archive{Inboxes: map[string][]Message{}}
	if err := checkName(name); err != nil {
		return a, err
	}
	t := s.DB.User(c.User)
	d, b, err := withBoard(ctx, t, name)
	if err != nil {
		return a, err
	}
	if err := d.prompted(ctx, t); err != nil {
		return a, err
	}
	a.Config = d.Config
	said := make([]text, len(b.Tasks))
	for i, n := range b.Tasks {
		f := texts.Under(d.ID).Fetch(taskID(n.ID), &said[i])
		if err := store.Load(ctx, t, f); err != nil {
			return a, err
		}
		if f.Found {
			a.Tasks = append(a.Tasks, taskOf(n, said[i]))
		}
	}
	of := store.Query{Where: []store.Cond{store.Eq("teamId", d.ID)}, Order: []string{"agent"}, Limit: store.MaxLimit}
	for more := true; more; more = of.Cursor != "" {
		page, err := inboxes.Query(ctx, t, of)
		if err != nil {
			return a, err
		}
		for _, head := range page.Docs {
			if a.Inboxes[head.Value.Agent], err = allMail(ctx, t, d.ID, head.Value.Agent); err != nil {
				return a, err
			}
		}
		of.Cursor = page.Next
	}
	return a, nil
}

// allMail is all that a member got, oldest first.
func allMail(ctx context.Context, t *store.Tenant, id, agent string) (out []Message, err error) {
	q := store.Query{Where: []store.Cond{store.Eq("agent", agent)}, Order: []string{"seq"}, Limit: store.MaxLimit}
	for more := true; more; more = q.Cursor != "" {
		page, err := messages.Under(id).Query(ctx, t, q)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Docs {
			out = append(out, m.Value.Message)
		}
		q.Cursor = page.Next
	}
	return out, nil
}
