package team

import (
	"slices"
	"strconv"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Status is where a task stands.
type Status string

// The statuses. A deleted task is gone.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted"
)

const (
	// MaxTasks is how many tasks a team holds, those that were deleted not counted.
	MaxTasks = 1000
	// MaxEdges is how many dependencies between them, so that a board stays well
	// below the size of a document.
	MaxEdges = 10_000
)

// stages are the statuses in the order in which a task goes through them.
var stages = []Status{Pending, InProgress, Completed}

// Node is a task in the graph.
type Node struct {
	ID        int64   `json:"id"`
	Status    Status  `json:"status"`
	Owner     string  `json:"owner,omitempty"`
	Blocks    []int64 `json:"blocks"`
	BlockedBy []int64 `json:"blockedBy"`
}

// Board is the graph of a team's tasks, in the order of their ids.
type Board struct {
	// LastID is the id given last; ids are not used again.
	LastID int64  `json:"lastId"`
	Tasks  []Node `json:"tasks"`
}

var boards = store.Collection[Board]{Name: "teamBoards", Unindexed: []string{"tasks"}}

// Change is what an update does to the graph. Empty fields leave things as they are.
type Change struct {
	Status Status
	// Owner is the new owner, an empty one none.
	Owner                   *string
	AddBlocks, AddBlockedBy []string
}

// find is the task with that id, or nil.
func (b *Board) find(id int64) *Node {
	i, found := slices.BinarySearchFunc(b.Tasks, id, func(n Node, id int64) int { return int(n.ID - id) })
	if !found {
		return nil
	}
	return &b.Tasks[i]
}

// named is the task that a text names, as ids are written, or nil.
func (b *Board) named(text string) *Node {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || taskID(id) != text {
		return nil
	}
	return b.find(id)
}

func taskID(id int64) string { return strconv.FormatInt(id, 10) }

// Add makes a pending task and returns it. A full board is Precondition.
func (b *Board) Add() (Node, error) {
	if len(b.Tasks) >= MaxTasks {
		return Node{}, fault.New(fault.Precondition, "A team holds at most %d tasks; delete those that are done first",
			MaxTasks)
	}
	b.LastID++
	n := Node{ID: b.LastID, Status: Pending, Blocks: []int64{}, BlockedBy: []int64{}}
	b.Tasks = append(b.Tasks, n)
	return n, nil
}

// Update is the board after a change of one task, and that task as it is then. The
// board itself stays as it is, whether the change is refused or not: all is checked
// before anything comes of it.
func (b Board) Update(team, id string, ch Change) (Board, Node, error) {
	next := b.clone()
	n := next.named(id)
	if n == nil {
		return b, Node{}, errNoTask(team, id)
	}
	if err := next.link(n, ch); err != nil {
		return b, Node{}, err
	}
	if err := next.mayBecome(n, ch.Status); err != nil {
		return b, Node{}, err
	}
	if ch.Owner != nil {
		n.Owner = *ch.Owner
	}
	if ch.Status != "" {
		n.Status = ch.Status
	}
	after := *n
	next.detach(after)
	return next, after, nil
}

func errNoTask(team, id string) error {
	return fault.New(fault.NotFound, "Task %s not found in team %s", id, team)
}

func (b Board) clone() Board {
	b.Tasks = slices.Clone(b.Tasks)
	for i := range b.Tasks {
		n := &b.Tasks[i]
		n.Blocks, n.BlockedBy = slices.Clone(n.Blocks), slices.Clone(n.BlockedBy)
	}
	return b
}

// link adds the edges of a change.
func (b *Board) link(n *Node, ch Change) error {
	blocked, err := b.others(n, ch.AddBlocks, "Task %s cannot block itself")
	if err != nil {
		return err
	}
	blockers, err := b.others(n, ch.AddBlockedBy, "Task %s cannot be blocked by itself")
	if err != nil {
		return err
	}
	for _, o := range blocked {
		if b.waitsFor(n, o.ID) {
			return fault.New(fault.Precondition, "Adding block %d -> %d would create a circular dependency", n.ID, o.ID)
		}
		join(n, o)
	}
	for _, o := range blockers {
		if b.waitsFor(o, n.ID) {
			return fault.New(fault.Precondition,
				"Adding dependency %d blocked_by %d would create a circular dependency", n.ID, o.ID)
		}
		join(o, n)
	}
	edges := 0
	for _, t := range b.Tasks {
		edges += len(t.BlockedBy)
	}
	if edges > MaxEdges && len(blocked)+len(blockers) > 0 {
		return fault.New(fault.Precondition,
			"A team's tasks have at most %d dependencies; complete or delete some tasks first", MaxEdges)
	}
	return nil
}

// others are the tasks that a change names.
func (b *Board) others(n *Node, ids []string, itself string) ([]*Node, error) {
	out := make([]*Node, len(ids))
	for i, id := range ids {
		if out[i] = b.named(id); out[i] == nil {
			return nil, fault.New(fault.Precondition, "Referenced task %s does not exist", id)
		}
		if out[i] == n {
			return nil, fault.New(fault.Invalid, itself, id)
		}
	}
	return out, nil
}

// join lets one task block another.
func join(blocker, blocked *Node) {
	if !slices.Contains(blocker.Blocks, blocked.ID) {
		blocker.Blocks = append(blocker.Blocks, blocked.ID)
	}
	if !slices.Contains(blocked.BlockedBy, blocker.ID) {
		blocked.BlockedBy = append(blocked.BlockedBy, blocker.ID)
	}
}

// waitsFor says whether a task is blocked by another, directly or through others.
func (b *Board) waitsFor(n *Node, id int64) bool {
	seen, rest := map[int64]bool{n.ID: true}, slices.Clone(n.BlockedBy)
	for len(rest) > 0 {
		next := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if next == id {
			return true
		}
		if o := b.find(next); o != nil && !seen[next] {
			seen[next] = true
			rest = append(rest, o.BlockedBy...)
		}
	}
	return false
}

// mayBecome says why a task may not take a status, or nil.
func (b *Board) mayBecome(n *Node, to Status) error {
	from, at := slices.Index(stages, n.Status), slices.Index(stages, to)
	switch {
	case to == "" || to == Deleted:
		return nil
	case at < 0:
		return errStatus(to)
	case at < from:
		return fault.New(fault.Precondition, "Cannot transition from %s to %s", n.Status, to)
	case to == Pending:
		return nil
	}
	for _, id := range n.BlockedBy {
		if o := b.find(id); o != nil && o.Status != Completed {
			return fault.New(fault.Precondition, "Cannot set status to %s: blocked by task %d (status: %s)", to, id,
				o.Status)
		}
	}
	return nil
}

func errStatus(s Status) error { return fault.New(fault.Invalid, "Invalid status: %s", s) }

// detach removes an ended task from the tasks that it blocks, and a deleted one from the board.
func (b *Board) detach(n Node) {
	if n.Status != Completed && n.Status != Deleted {
		return
	}
	is := func(id int64) bool { return id == n.ID }
	for i := range b.Tasks {
		o := &b.Tasks[i]
		o.BlockedBy = slices.DeleteFunc(o.BlockedBy, is)
		if n.Status == Deleted {
			o.Blocks = slices.DeleteFunc(o.Blocks, is)
		}
	}
	if n.Status == Deleted {
		b.Tasks = slices.DeleteFunc(b.Tasks, func(o Node) bool { return o.ID == n.ID })
	}
}

// Ready says whether a task can be taken up: it is pending, and what blocks it is completed.
func (b *Board) Ready(n Node) bool { return n.Status == Pending && b.mayBecome(&n, InProgress) == nil }

// Release gives back the unfinished tasks of an owner, and says which they were.
func (b *Board) Release(owner string) (ids []int64) {
	for i := range b.Tasks {
		if n := &b.Tasks[i]; n.Owner == owner && n.Status != Completed {
			n.Status, n.Owner = Pending, ""
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// Working says whether a member has a task in progress.
func (b *Board) Working(owner string) bool {
	return slices.ContainsFunc(b.Tasks, func(n Node) bool { return n.Owner == owner && n.Status == InProgress })
}
