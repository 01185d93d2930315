package team

import (
	"slices"
	"strconv"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Status is the status of a task.
type Status string

// The statuses of tasks. Deleted appears in updates only: a deleted task leaves the board.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted"
)

const (
	// MaxTasks is the largest number of tasks of a team. Deleted tasks do not count.
	MaxTasks = 1000
	// MaxEdges is the largest number of dependencies between the tasks of a team. It keeps
	// a board well below the size limit of a document.
	MaxEdges = 10_000
)

// stages lists the statuses in the order of a task's life.
var stages = []Status{Pending, InProgress, Completed}

// Node is a task in the graph.
type Node struct {
	ID        int64   `json:"id"`
	Status    Status  `json:"status"`
	Owner     string  `json:"owner,omitempty"`
	Blocks    []int64 `json:"blocks"`
	BlockedBy []int64 `json:"blockedBy"`
}

// Board is the graph of a team's tasks, sorted by id.
type Board struct {
	// LastID is the highest id that a task ever had. Ids are never reused.
	LastID int64  `json:"lastId"`
	Tasks  []Node `json:"tasks"`
}

var boards = store.Collection[Board]{Name: "teamBoards", PartOf: "a team",
	Unindexed: []string{"tasks"}, Log: "team_tasks"}

// Change is a change of one task in the graph. A zero field changes nothing.
type Change struct {
	Status Status
	// Owner is the new owner. A pointer to the empty string removes the owner.
	Owner                   *string
	AddBlocks, AddBlockedBy []string
}

// find returns the task with that id, or nil.
func (b *Board) find(id int64) *Node {
	i, found := slices.BinarySearchFunc(b.Tasks, id, func(n Node, id int64) int { return int(n.ID - id) })
	if !found {
		return nil
	}
	return &b.Tasks[i]
}

// findText returns the task whose id a text is in canonical form, or nil.
func (b *Board) findText(text string) *Node {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || taskID(id) != text {
		return nil
	}
	return b.find(id)
}

func taskID(id int64) string { return strconv.FormatInt(id, 10) }

// Add appends a pending task and returns it. A board with MaxTasks tasks is Precondition.
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

// Update returns the board after a change of one task, and the changed task. The receiver is
// never modified, and a refused change returns it as it is. A task that does not exist is
// NotFound; an unknown status and a task that blocks itself are Invalid; a dependency on a
// missing task, a cycle, a step back in status and a blocked task are Precondition.
func (b Board) Update(team, id string, ch Change) (Board, Node, error) {
	next := b.clone()
	n := next.findText(id)
	if n == nil {
		return b, Node{}, errNoTask(team, id)
	}
	if err := next.link(n, ch); err != nil {
		return b, Node{}, err
	}
	if err := next.checkStatus(n, ch.Status); err != nil {
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

// link adds the dependencies of a change.
func (b *Board) link(n *Node, ch Change) error {
	blocked, err := b.resolve(n, ch.AddBlocks, "Task %s cannot block itself")
	if err != nil {
		return err
	}
	blockers, err := b.resolve(n, ch.AddBlockedBy, "Task %s cannot be blocked by itself")
	if err != nil {
		return err
	}
	for _, o := range blocked {
		if b.waitsFor(n, o.ID) {
			return fault.New(fault.Precondition, "Adding block %d -> %d would create a circular dependency", n.ID, o.ID)
		}
		addEdge(n, o)
	}
	for _, o := range blockers {
		if b.waitsFor(o, n.ID) {
			return fault.New(fault.Precondition,
				"Adding dependency %d blocked_by %d would create a circular dependency", n.ID, o.ID)
		}
		addEdge(o, n)
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

// resolve returns the tasks with these ids. A missing task is Precondition, and n itself is
// Invalid with the message self.
func (b *Board) resolve(n *Node, ids []string, self string) ([]*Node, error) {
	out := make([]*Node, len(ids))
	for i, id := range ids {
		if out[i] = b.findText(id); out[i] == nil {
			return nil, fault.New(fault.Precondition, "Referenced task %s does not exist", id)
		}
		if out[i] == n {
			return nil, fault.New(fault.Invalid, self, id)
		}
	}
	return out, nil
}

// addEdge makes one task block another.
func addEdge(blocker, blocked *Node) {
	if !slices.Contains(blocker.Blocks, blocked.ID) {
		blocker.Blocks = append(blocker.Blocks, blocked.ID)
	}
	if !slices.Contains(blocked.BlockedBy, blocker.ID) {
		blocked.BlockedBy = append(blocked.BlockedBy, blocker.ID)
	}
}

// waitsFor reports whether a task is blocked by another, directly or through others.
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

// checkStatus returns a fault if a task may not take a status: Invalid for an unknown
// status, Precondition for a step back and for a task that is blocked.
func (b *Board) checkStatus(n *Node, to Status) error {
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

// detach removes a completed or deleted task from the blockers of other tasks, and a deleted
// task from the board.
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

// Ready reports whether a task is pending and all its blockers are completed.
func (b *Board) Ready(n Node) bool {
	return n.Status == Pending && b.checkStatus(&n, InProgress) == nil
}

// Release makes the unfinished tasks of an owner pending and removes the owner. It returns
// their ids, nil for none.
func (b *Board) Release(owner string) (ids []int64) {
	for i := range b.Tasks {
		if n := &b.Tasks[i]; identity.Same(n.Owner, owner) && n.Status != Completed {
			n.Status, n.Owner = Pending, ""
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// Working reports whether a member has a task in progress.
func (b *Board) Working(owner string) bool {
	return slices.ContainsFunc(b.Tasks, func(n Node) bool {
		return n.Status == InProgress && identity.Same(n.Owner, owner)
	})
}
