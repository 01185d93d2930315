package team

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Task is a task of a team.
type Task struct {
	ID          string          `json:"id"`
	Subject     string          `json:"subject"`
	Description string          `json:"description"`
	ActiveForm  string          `json:"activeForm"`
	Status      Status          `json:"status"`
	Blocks      []string        `json:"blocks"`
	BlockedBy   []string        `json:"blockedBy"`
	Owner       string          `json:"owner,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
}

// text holds the texts of a task. Its status, owner and dependencies are on the board.
type text struct {
	Subject     string          `json:"subject"`
	Description string          `json:"description"`
	ActiveForm  string          `json:"activeForm"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	// Nulls lists the fields that are null in the archive that the task comes from.
	Nulls []string `json:"nulls,omitempty"`
}

var texts = store.Collection[text]{Name: "teams/*/teamTasks", PartOf: "a task of a team",
	Unindexed: []string{"subject", "description", "activeForm", "metadata", "nulls"}}

// maxMetadata is the largest size of a task's metadata in bytes.
const maxMetadata = 16_000

func taskOf(n Node, t text) Task {
	return Task{ID: taskID(n.ID), Subject: t.Subject, Description: t.Description, ActiveForm: t.ActiveForm,
		Status: n.Status, Blocks: taskIDs(n.Blocks), BlockedBy: taskIDs(n.BlockedBy), Owner: n.Owner,
		Metadata: t.Metadata}
}

func taskIDs(ids []int64) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = taskID(id)
	}
	return out
}

// merge returns metadata with changes applied: each key of the changes is set, or removed if
// its value is null. A value that is no object or a result above maxMetadata is Invalid.
func merge(old, changes json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, raw := range []json.RawMessage{old, changes} {
		if len(raw) == 0 {
			continue
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fault.Field("metadata", "must be an object")
		}
		for k, v := range m {
			if all[k] = v; string(v) == "null" {
				delete(all, k)
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	// Not Marshal, which escapes < and &: the caller gets its values back as it sent them.
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "metadata")
	}
	out := bytes.TrimSpace(b.Bytes())
	if len(out) > maxMetadata {
		return nil, fault.Field("metadata", "must have at most %d bytes in all; set keys to null to remove them",
			maxMetadata)
	}
	return out, nil
}

// withBoard reads a team, its board and the given fetches in one round trip.
func withBoard(ctx context.Context, r store.Reader, team string, more ...*store.Fetch) (*document, Board, error) {
	var b Board
	d, err := load(ctx, r, team, append(more, boards.Fetch(docID(team), &b))...)
	return d, b, err
}

// boardTurn returns a context whose transactions change the board of a team, one after the other.
func boardTurn(ctx context.Context, team string) context.Context {
	return store.InTurn(ctx, boards.Name+"/"+docID(team))
}

// CreateTask adds a pending task without an owner. A blank subject and malformed metadata are
// Invalid, a full team Precondition.
func (s *Service) CreateTask(ctx context.Context, c identity.Caller, in CreateTaskInput) (Task, error) {
	if err := checkName(in.TeamName); err != nil {
		return Task{}, err
	}
	if strings.TrimSpace(in.Subject) == "" {
		return Task{}, fault.New(fault.Invalid, "Task subject must not be empty")
	}
	metadata, err := merge(nil, in.Metadata)
	if err != nil {
		return Task{}, err
	}
	ctx = boardTurn(ctx, in.TeamName)
	return idempotency.Update(ctx, s.DB.User(c.User), in, s.Now(), func(ctx context.Context, tx *store.Tx) (Task, error) {
		d, b, err := withBoard(ctx, tx, in.TeamName)
		if err != nil {
			return Task{}, err
		}
		if err := d.belongs(c); err != nil {
			return Task{}, err
		}
		n, err := b.Add()
		if err != nil {
			return Task{}, err
		}
		t := text{Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Metadata: metadata}
		boards.Put(tx, docID(d.Name), b)
		texts.Under(d.ID).Create(tx, taskID(n.ID), t)
		return taskOf(n, t), nil
	})
}

// UpdateTask changes a task and sends a new owner the assignment. All changes are made, or
// none. The faults are those of [Board.Update]; an owner that is no member is a warning.
func (s *Service) UpdateTask(ctx context.Context, c identity.Caller,
	in UpdateTaskInput) (out UpdateTaskOutput, err error) {
	if err := in.check(); err != nil {
		return out, err
	}
	now := s.Now()
	err = s.DB.User(c.User).Update(boardTurn(ctx, in.TeamName), func(ctx context.Context, tx *store.Tx) error {
		out = UpdateTaskOutput{}
		mail, fetches := newDelivery(in.TeamName, in.recipients()...)
		d, b, err := withBoard(ctx, tx, in.TeamName, fetches...)
		if err != nil {
			return err
		}
		by, err := d.speaker(c, "")
		if err != nil {
			return err
		}
		if in.Owner != nil && *in.Owner != "" {
			if mail, err = d.deliverTo(ctx, tx, mail, *in.Owner); err != nil {
				return err
			}
			in.Owner = new(d.spelling(*in.Owner))
		}
		before := b.findText(in.TaskID)
		next, n, err := b.Update(in.TeamName, in.TaskID, Change{in.Status, in.Owner, in.AddBlocks, in.AddBlockedBy})
		if err != nil {
			return err
		}
		var t text
		f := texts.Under(d.ID).Fetch(in.TaskID, &t)
		if err := store.Load(ctx, tx, f); err != nil {
			return err
		}
		changed, err := in.rewrite(&t)
		if err != nil {
			return err
		}
		switch {
		case n.Status == Deleted:
			texts.Under(d.ID).Delete(tx, in.TaskID)
		case changed:
			texts.Under(d.ID).Put(tx, in.TaskID, t)
		}
		boards.Put(tx, docID(d.Name), next)
		if n.Owner != "" && n.Status == InProgress && (before.Status != InProgress || before.Owner != n.Owner) &&
			d.Member(n.Owner) != nil && n.Owner != Lead {
			renewLease(tx, d, d.spelling(n.Owner), "", 0, now)
		}
		out.Task = taskOf(n, t)
		if n.Owner == "" || n.Owner == before.Owner || n.Status == Deleted {
			return nil
		}
		out.Warning = d.ownerWarning(n.Owner)
		mail.send(tx, n.Owner, Message{From: by, By: person(c), Color: d.colorOf(by), Timestamp: stamp(now),
			Text: payload(taskAssignment{"task_assignment", in.TaskID, t.Subject, t.Description, by, stamp(now)})})
		mail.close(tx)
		return nil
	})
	return out, err
}

// ownerWarning returns a warning for an owner that is no member, else the empty string.
func (d *document) ownerWarning(name string) string {
	if d.Member(name) != nil {
		return ""
	}
	return "no member of team " + d.Name + " is named " + strconv.Quote(name) +
		"; the assignment waits in that inbox. Members: " + strings.Join(d.names(), ", ")
}

func (in *UpdateTaskInput) check() error {
	if err := checkName(in.TeamName); err != nil {
		return err
	}
	if in.Owner != nil && *in.Owner != "" {
		if err := checkNameOf("agent", "Agent", *in.Owner); err != nil {
			return err
		}
	}
	if in.Subject != nil && strings.TrimSpace(*in.Subject) == "" {
		return fault.New(fault.Invalid, "Task subject must not be empty")
	}
	_, err := merge(nil, in.Metadata)
	return err
}

// recipients returns the new owner, if the update names one.
func (in *UpdateTaskInput) recipients() []string {
	if in.Owner == nil || *in.Owner == "" {
		return nil
	}
	return []string{*in.Owner}
}

// rewrite applies the changes of the texts and reports whether there were any.
func (in *UpdateTaskInput) rewrite(t *text) (changed bool, err error) {
	for _, f := range []struct {
		to   *string
		from *string
	}{{&t.Subject, in.Subject}, {&t.Description, in.Description}, {&t.ActiveForm, in.ActiveForm}} {
		if f.from != nil {
			*f.to, changed = *f.from, true
		}
	}
	if len(in.Metadata) > 0 {
		t.Metadata, err = merge(t.Metadata, in.Metadata)
		changed = true
	}
	return changed, err
}

// ListTasks returns a page of a team's tasks in the order of their ids. An unknown status and a
// malformed cursor are Invalid.
func (s *Service) ListTasks(ctx context.Context, c identity.Caller, in ListTasksInput) (ListTasksOutput, error) {
	out := ListTasksOutput{Tasks: []Task{}}
	if err := checkName(in.TeamName); err != nil {
		return out, err
	}
	if in.Status != "" && !slices.Contains(stages, in.Status) {
		return out, errStatus(in.Status)
	}
	after := int64(0)
	if in.Cursor != "" {
		var err error
		if after, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil {
			return out, fault.Field("cursor", "must be the a nextCursor")
		}
	}
	t := s.DB.User(c.User)
	d, b, err := withBoard(ctx, t, in.TeamName)
	if err == nil {
		err = d.belongs(c)
	}
	if err != nil {
		return out, err
	}
	var nodes []Node
	for _, n := range b.Tasks {
		if n.ID <= after || (in.Status != "" && n.Status != in.Status) ||
			(in.Owner != "" && !identity.Same(n.Owner, in.Owner)) || (in.Ready && !b.Ready(n)) {
			continue
		}
		if len(nodes) == in.Limit {
			out.NextCursor = taskID(nodes[in.Limit-1].ID)
			break
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return out, nil
	}
	contents := make([]text, len(nodes))
	fetches := make([]*store.Fetch, len(nodes))
	for i, n := range nodes {
		fetches[i] = texts.Under(d.ID).Fetch(taskID(n.ID), &contents[i])
	}
	if err := store.Load(ctx, t, fetches...); err != nil {
		return out, err
	}
	for i, n := range nodes {
		if fetches[i].Found { // else it was deleted after the board was read
			out.Tasks = append(out.Tasks, taskOf(n, contents[i]))
		}
	}
	return out, nil
}

// GetTask returns one task. A task or team that does not exist is NotFound.
func (s *Service) GetTask(ctx context.Context, c identity.Caller, in TaskInput) (Task, error) {
	if err := checkName(in.TeamName); err != nil {
		return Task{}, err
	}
	t := s.DB.User(c.User)
	d, b, err := withBoard(ctx, t, in.TeamName)
	if err == nil {
		err = d.belongs(c)
	}
	if err != nil {
		return Task{}, err
	}
	n := b.findText(in.TaskID)
	if n == nil {
		return Task{}, errNoTask(in.TeamName, in.TaskID)
	}
	content, err := texts.Under(d.ID).Get(ctx, t, in.TaskID)
	if fault.Is(err, fault.NotFound) {
		return Task{}, errNoTask(in.TeamName, in.TaskID)
	}
	return taskOf(*n, content), err
}
