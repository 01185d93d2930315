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

// Archive is a complete team in the shapes of the file format (see the package comment).
type Archive struct {
	Config
	// Inboxes holds the messages of each member by name, oldest first. An import gives
	// messages new ids and ignores those of the archive.
	Inboxes map[string][]Message
	Tasks   []Task
	// Nulls lists the fields that are explicitly null. A field that got a
	// value since is not null any more.
	Nulls Nulls
}

// Nulls lists the names of null fields by their object: "config", "members/NAME", "tasks/ID" and "inboxes/NAME/N", where
// N counts the messages from 0.
type Nulls map[string][]string

// set records the null fields of an object, if there are any.
func (n *Nulls) set(object string, fields []string) {
	if len(fields) == 0 {
		return
	}
	if *n == nil {
		*n = Nulls{}
	}
	(*n)[object] = fields
}

// ofConfig names the team itself.
const ofConfig = "config"

// ofMember names a member.
func ofMember(name string) string { return "members/" + name }

// ofTask names a task.
func ofTask(id string) string { return "tasks/" + id }

// ofMessage names the message of an inbox with an index.
func ofMessage(agent string, i int) string { return "inboxes/" + agent + "/" + strconv.Itoa(i) }

// maxInboxes is the largest number of inboxes in an import: those of members and of former members.
const maxInboxes = 400

// importTimeout is the time after which the sweep deletes the documents of an unfinished import.
const importTimeout = 24 * time.Hour

// Import creates a team from an archive. A caller whose key is bound to a program leads the
// team; one by an unbound key is led by people, and is not that key's active team. A malformed
// archive is Invalid, a name in use Exists, and a caller that leads another team
// Precondition. After a fault no call can see any part of the team.
func (s *Service) Import(ctx context.Context, c identity.Caller, a Archive) error {
	b, err := a.validate()
	if err != nil {
		return err
	}
	d := document{Config: a.Config, ID: s.NewID(), Owner: "import:" + a.Name}
	if c.Bound() {
		d.Owner, d.FounderKey = leader(c), c.KeyID
	}
	d.Nulls.set(ofConfig, a.Nulls[ofConfig])
	for _, m := range d.Members {
		d.Nulls.set(ofMember(m.Name), a.Nulls[ofMember(m.Name)])
	}
	now, t := s.Now(), s.DB.User(c.User)
	if err := d.mayCreate(ctx, t, c); err != nil {
		return err
	}
	// The deletion is written first and removed last, so that the sweep deletes an interrupted import.
	first := []write{{run: func(tx *store.Tx) { deletions.Put(tx, d.ID, deletion{DueAt: now.Add(importTimeout)}) }}}
	writes, err := a.writes(&d)
	if err != nil {
		return err
	}
	for _, batch := range append([][]write{first}, batches(writes)...) {
		err := t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
			for _, w := range batch {
				w.run(tx)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := d.mayCreate(ctx, tx, c); err != nil {
			return err
		}
		createTeam(tx, d, b)
		for agent, list := range a.Inboxes {
			inboxes.Put(tx, memberID(d.Name, agent), inbox{TeamID: d.ID, Agent: agent, Last: int64(len(list))})
		}
		deletions.Delete(tx, d.ID)
		return nil
	})
}

// write is the write of one document, with its approximate size in bytes.
type write struct {
	run  func(*store.Tx)
	size int
}

// writes returns the writes of all documents below the team. It moves the members' prompts
// from d to documents of their own.
func (a *Archive) writes(d *document) (out []write, err error) {
	d.Members = slices.Clone(d.Members)
	for i := range d.Members {
		m := &d.Members[i]
		if m.Name == Lead {
			continue
		}
		prompt := instruction{deref(m.Prompt)}
		m.Prompt = nil
		out = append(out, write{func(tx *store.Tx) { prompts.Under(d.ID).Put(tx, promptID(m.Name), prompt) },
			len(prompt.Prompt)})
	}
	for _, task := range a.Tasks {
		content := text{task.Subject, task.Description, task.ActiveForm, task.Metadata, a.Nulls[ofTask(task.ID)]}
		if _, err = merge(nil, task.Metadata); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "task %s", task.ID)
		}
		out = append(out, write{func(tx *store.Tx) { texts.Under(d.ID).Put(tx, task.ID, content) },
			len(content.Subject) + len(content.Description) + len(content.ActiveForm) + len(content.Metadata)})
	}
	for agent, list := range a.Inboxes {
		for i, m := range list {
			seq := int64(i + 1)
			m.ID = messageID(seq)
			out = append(out, write{func(tx *store.Tx) {
				messages.Under(d.ID).Put(tx, messageDocID(seq, agent),
					storedMessage{Message: m, Agent: agent, Seq: seq, Nulls: a.Nulls[ofMessage(agent, i)]})
			}, len(m.Text) + len(m.Summary)})
		}
	}
	return out, nil
}

// maxBatch is the approximate number of bytes that one transaction of an import writes. It
// stays well below the size limit of a request to Firestore.
const maxBatch = 2 << 20

// batches groups writes so that each group fits into one transaction.
func batches(writes []write) (out [][]write) {
	size := 0
	for _, w := range writes {
		if len(out) == 0 || len(out[len(out)-1]) == clearPage || size+w.size > maxBatch {
			out, size = append(out, nil), 0
		}
		last := &out[len(out)-1]
		*last = append(*last, w)
		size += w.size
	}
	return out
}

// validate returns the archive's board. The first problem that it finds is Invalid.
func (a *Archive) validate() (b Board, err error) {
	if err := checkName(a.Name); err != nil {
		return b, err
	}
	if len(a.Members) > MaxMembers || len(a.Inboxes) > maxInboxes || len(a.Tasks) > MaxTasks {
		return b, fault.New(fault.Invalid,
			"a team has at most %d members, %d inboxes and %d tasks; this one has %d, %d and %d",
			MaxMembers, maxInboxes, MaxTasks, len(a.Members), len(a.Inboxes), len(a.Tasks))
	}
	if m := a.Member(Lead); m == nil || m.Name != Lead {
		return b, fault.New(fault.Invalid, "the team has no member named %s", Lead)
	}
	seen := map[string]bool{}
	for _, m := range a.Members {
		if seen[identity.Fold(m.Name)] {
			return b, fault.New(fault.Invalid, "Member '%s' already exists in team '%s'", m.Name, a.Name)
		}
		seen[identity.Fold(m.Name)] = true
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

// board returns the graph of the archive's tasks. A graph that breaks a rule is Invalid.
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
	return b, b.validate()
}

// number parses a task id. Anything but the canonical decimal form is Invalid.
func number(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || taskID(id) != text || id > 1<<52 {
		return 0, fault.New(fault.Invalid, "%.40q is not the id of a task: it must be a whole number from 1 on", text)
	}
	return id, nil
}

// validate checks a board that was not built by [Board.Update]. A duplicate id, a missing
// task, a cycle or too many dependencies are Invalid.
func (b *Board) validate() error {
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

// Export reads a complete team. It is no snapshot: a write during the export may be in the
// result or not. A team that does not exist is NotFound, a caller that does not lead it
// Forbidden.
func (s *Service) Export(ctx context.Context, c identity.Caller, name string) (Archive, error) {
	a := Archive{Inboxes: map[string][]Message{}}
	if err := checkName(name); err != nil {
		return a, err
	}
	t := s.DB.User(c.User)
	d, b, err := withBoard(ctx, t, name)
	if err == nil {
		err = d.mayLead(c)
	}
	if err != nil {
		return a, err
	}
	if err := d.loadPrompts(ctx, t); err != nil {
		return a, err
	}
	a.Config = d.Config
	a.Nulls.set(ofConfig, d.Nulls[ofConfig])
	for _, m := range d.Members {
		a.Nulls.set(ofMember(m.Name), d.Nulls[ofMember(m.Name)])
	}
	contents := make([]text, len(b.Tasks))
	for i, n := range b.Tasks {
		f := texts.Under(d.ID).Fetch(taskID(n.ID), &contents[i])
		if err := store.Load(ctx, t, f); err != nil {
			return a, err
		}
		if f.Found {
			a.Tasks = append(a.Tasks, taskOf(n, contents[i]))
			a.Nulls.set(ofTask(taskID(n.ID)), contents[i].Nulls)
		}
	}
	of := store.Query{Where: []store.Cond{store.Eq("teamId", d.ID)}, Order: []string{"agent"}, Limit: store.MaxLimit}
	for more := true; more; more = of.Cursor != "" {
		page, err := inboxes.Query(ctx, t, of)
		if err != nil {
			return a, err
		}
		for _, head := range page.Docs {
			if err := a.readInbox(ctx, t, d.ID, head.Value); err != nil {
				return a, err
			}
		}
		of.Cursor = page.Next
	}
	return a, nil
}

// readInbox reads the messages of a member, oldest first.
func (a *Archive) readInbox(ctx context.Context, t *store.Tenant, id string, head inbox) error {
	a.Inboxes[head.Agent] = nil
	q := store.Query{Where: []store.Cond{store.Eq("agent", head.Agent)}, Order: []string{"seq"}, Limit: store.MaxLimit}
	if head.Before > 0 {
		q.Where = append(q.Where, store.Gt("seq", head.Before))
	}
	for more := true; more; more = q.Cursor != "" {
		page, err := messages.Under(id).Query(ctx, t, q)
		if err != nil {
			return err
		}
		for _, m := range page.Docs {
			a.Nulls.set(ofMessage(head.Agent, len(a.Inboxes[head.Agent])), m.Value.Nulls)
			a.Inboxes[head.Agent] = append(a.Inboxes[head.Agent], m.Value.Message)
		}
		q.Cursor = page.Next
	}
	return nil
}
