package sprint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Service implements the operations of sprints. All methods are safe for concurrent use.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
	// Mail sends messages of the system. Without one nobody is told of a cancellation.
	Mail Mail
	// Sessions tells which sessions have ended, which take no story up. Without it none has.
	Sessions Sessions
}

// Sessions tells about sessions.
type Sessions interface {
	// Life prepares to read a program's session. After the fetches are loaded, read tells whether the session is known
	// to have ended, and when it was last heard of, zero if that is unknown.
	Life(program, session string) (fetches []*store.Fetch, read func() (ended bool, heard time.Time))
}

// Mail sends messages of the system.
type Mail interface {
	// Notify sends to an inbox a message as part of the transaction. The id is the message's.
	Notify(tx *store.Tx, id, inbox, text string, now time.Time)
	// Inbox returns the inbox of a program's session: its address if the session is live, and otherwise the program. Its
	// reads are part of a transaction.
	Inbox(ctx context.Context, r store.Reader, program, session string) (string, error)
}

// authorOf returns the caller as the author of a sprint or story.
func authorOf(c identity.Caller) (author, error) {
	source, verified, err := c.SpeaksAs("")
	return author{source, verified, cmp.Or(source, task.Any), c.Owner(), c.Owner()}, err
}

// Create creates a sprint with all its stories in one transaction. A plan with problems is
// Invalid, with at most 20 of them, each at its field.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	var out CreateOutput
	if err := check(in.Stories); err != nil {
		return out, err
	}
	by, err := authorOf(c)
	if err != nil {
		return out, err
	}
	now, id := s.Now(), s.NewID()
	stories := newStories(id, by, in.Stories, now)
	last := slices.Max(waves(in.Stories))
	parent, err := newSprint(by, in, last, now)
	if err != nil {
		return out, err
	}
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (CreateOutput, error) {
		task.Tasks.Create(tx, id, parent)
		for _, t := range stories {
			task.Tasks.Create(tx, docID(id, t.Sprint.StoryID), t)
		}
		return CreateOutput{SprintID: id, Status: parent.Status, Stories: len(stories), Waves: last,
			Ready: readyIn(stories), CreatedAt: now}, nil
	})
}

// readyIn returns the ids of the ready stories of a new sprint.
func readyIn(stories []task.Task) []string {
	out := []string{}
	for _, t := range stories {
		if t.Sprint.Wave == 1 && t.Waits == 0 {
			out = append(out, t.Sprint.StoryID)
		}
	}
	return out
}

func noSprint(id string) error { return fault.New(fault.NotFound, "no sprint with id %q", id) }

// isSprint reports whether a loaded document is a sprint.
func isSprint(found bool, t *task.Task) bool {
	return found && t.Type == task.Sprint && t.Sprint != nil
}

// isStory reports whether a loaded document is that story of that sprint.
func isStory(found bool, t *task.Task, sprintID, storyID string) bool {
	return found && t.Type == task.Story && t.Sprint != nil && t.Sprint.ParentID == sprintID &&
		t.Sprint.StoryID == storyID
}

// openWaveOf returns the lowest wave with a story that has not ended, 0 if there is none.
func openWaveOf(ctx context.Context, r store.Reader, sprintID string) (int, error) {
	page, err := task.Tasks.Query(ctx, r, store.Query{Where: []store.Cond{store.Eq("sprint.parentId", sprintID),
		store.Eq("sprint.ended", false)},
		Order: []string{"sprint.wave"}, Limit: 1})
	if err != nil || len(page.Docs) == 0 {
		return 0, err
	}
	return page.Docs[0].Value.Sprint.Wave, nil
}

// all returns the stories of a sprint, at most MaxStories, sorted by wave and order.
func all(ctx context.Context, r store.Reader, sprintID string) ([]task.Task, error) {
	page, err := task.Tasks.Query(ctx, r, store.Query{Where: []store.Cond{store.Eq("sprint.parentId", sprintID)},
		Order: []string{"sprint.wave", "sprint.order"}, Limit: store.MaxLimit})
	if err != nil {
		return nil, err
	}
	out := make([]task.Task, len(page.Docs))
	for i, d := range page.Docs {
		out[i] = d.Value
	}
	return out, nil
}

// Get returns a sprint with all its stories. A sprint that does not exist is NotFound.
func (s *Service) Get(ctx context.Context, c identity.Caller, in GetInput) (View, error) {
	var parent task.Task
	u, f := s.DB.User(c.User), task.Tasks.Fetch(in.SprintID, &parent)
	if err := store.Load(ctx, u, f); err != nil {
		return View{}, err
	}
	if !isSprint(f.Found, &parent) {
		return View{}, noSprint(in.SprintID)
	}
	stories, err := all(ctx, u, in.SprintID)
	if err != nil {
		return View{}, err
	}
	p := parent.Sprint
	v := View{SprintID: in.SprintID, ProjectName: p.ProjectName, Branch: p.Branch, Status: parent.Status,
		Source: parent.Source, Verified: parent.Verified, SessionID: parent.SessionID, CreatedAt: parent.CreatedAt,
		CompletedAt: parent.CompletedAt, Board: boardOf(stories)}
	// The document stays active if the process dies between the end of the last story and StoryEnded.
	if v.Status == task.Active && openWave(stories) == 0 {
		v.Status = task.Completing
	}
	if err := read(p.Config, &v.Config); err != nil {
		return View{}, err
	}
	return v, read(p.Summary, &v.Summary)
}

// List returns a page of sprints, oldest first. An unknown cursor is Invalid.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Sprints: []Entry{}}
	status := store.Eq("status", in.Status)
	if in.Status == "all" {
		status = store.In("status", task.Statuses()...)
	}
	page, err := task.Tasks.Query(ctx, s.DB.User(c.User), store.Query{Where: []store.Cond{status,
		store.Contains("routes", task.TypeRoute(task.Sprint, task.Everywhere))}, Order: []string{"rank desc", "createdAt"},
		Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out.NextCursor = page.Next
	for _, d := range page.Docs {
		t, p := &d.Value, d.Value.Sprint
		if !isSprint(true, t) {
			continue
		}
		e := Entry{SprintID: d.ID, ProjectName: p.ProjectName, Branch: p.Branch, Status: t.Status, Stories: p.Stories,
			Waves: p.LastWave, Source: t.Source, Verified: t.Verified, CreatedAt: t.CreatedAt, CompletedAt: t.CompletedAt}
		if err := read(p.Summary, &e.Summary); err != nil {
			return out, err
		}
		out.Sprints = append(out.Sprints, e)
	}
	return out, nil
}

// read decodes a JSON field of a sprint. An empty field leaves v as it is.
func read(text json.RawMessage, v any) error {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fault.Wrap(fault.Internal, err, "a sprint cannot be read")
	}
	return nil
}

// Add adds a story to a running sprint. A dependency that is missing, skipped or in a later
// wave is Invalid, an id in use Exists, and a sprint that is full or has no open story
// Precondition.
//
// Add and the completion of a dependency both load the dependency in their transactions, so
// that a concurrent completion is counted exactly once.
func (s *Service) Add(ctx context.Context, c identity.Caller, in AddInput) (AddOutput, error) {
	by, err := authorOf(c)
	if err != nil {
		return AddOutput{}, err
	}
	now, u := s.Now(), s.DB.User(c.User)
	// This read is outside the transaction: if the wave ends meanwhile, the story opens it
	// again, as if it had been added before.
	open, err := openWaveOf(ctx, u, in.SprintID)
	if err != nil {
		return AddOutput{}, err
	}
	return idempotency.Update(ctx, u, in, now, func(ctx context.Context, tx *store.Tx) (AddOutput, error) {
		parent, on, err := s.neighbours(ctx, tx, in)
		if err != nil {
			return AddOutput{}, err
		}
		if err := c.Paused("", parent.Sprint.ProjectName); err != nil {
			return AddOutput{}, err
		}
		if parent.Status != task.Active || open == 0 {
			return AddOutput{}, fault.New(fault.Precondition,
				"the sprint takes no more stories: all of its stories have ended; plan what is left as a new sprint")
		}
		if parent.Sprint.Stories >= MaxStories {
			return AddOutput{}, fault.New(fault.Precondition,
				"the sprint has %d stories, and no more fit; plan what is left as a new sprint", parent.Sprint.Stories)
		}
		by := by
		// A story belongs to the creator of the sprint, whoever adds it.
		by.owner, by.planner = parent.Target, parent.Owner()
		t := newStory(in.SprintID, by, in.Story, waveOf(in.InsertionMode, open, parent.Sprint.LastWave),
			parent.Sprint.Stories, now)
		if err := link(&t, on, in.Story.Dependencies); err != nil {
			return AddOutput{}, err
		}
		parent.Sprint.Stories++
		parent.Sprint.LastWave = max(parent.Sprint.LastWave, t.Sprint.Wave)
		task.Tasks.Put(tx, in.SprintID, parent)
		task.Tasks.Create(tx, docID(in.SprintID, in.Story.ID), t)
		for id, d := range on {
			if d.Status != task.Done {
				task.Tasks.Put(tx, docID(in.SprintID, id), *d)
			}
		}
		return AddOutput{SprintID: in.SprintID, Story: view(t), Waits: t.Waits}, nil
	})
}

// neighbours loads the sprint and the dependencies of a new story. A missing dependency is
// Invalid, a sprint that does not exist NotFound, and an id in use Exists.
func (s *Service) neighbours(ctx context.Context, tx *store.Tx,
	in AddInput) (parent task.Task, on map[string]*task.Task, err error) {
	var same task.Task
	on = map[string]*task.Task{}
	fetches := []*store.Fetch{task.Tasks.Fetch(in.SprintID, &parent),
		task.Tasks.Fetch(docID(in.SprintID, in.Story.ID), &same)}
	var wrong problems
	for i, id := range in.Story.Dependencies {
		if id == in.Story.ID {
			wrong.add(fmt.Sprintf("story.dependencies[%d]", i), "%q cannot depend on itself", id)
		} else if on[id] == nil {
			on[id] = &task.Task{}
			fetches = append(fetches, task.Tasks.Fetch(docID(in.SprintID, id), on[id]))
		}
	}
	if err := store.Load(ctx, tx, fetches...); err != nil {
		return parent, nil, err
	}
	if !isSprint(fetches[0].Found, &parent) {
		return parent, nil, noSprint(in.SprintID)
	}
	if fetches[1].Found {
		return parent, nil, fault.New(fault.Exists, "the sprint has a story %q already; give the new one another id",
			in.Story.ID)
	}
	for i, id := range in.Story.Dependencies {
		if t := on[id]; t != nil && !isStory(true, t, in.SprintID, id) {
			wrong.add(fmt.Sprintf("story.dependencies[%d]", i), "there is no story %q in this sprint", id)
		}
	}
	return parent, on, wrong.fault()
}

// link connects a new story with its dependencies: the story counts those that are not
// complete, and each of them lists the story as a dependent. A dependency that cannot be
// complete before the story is Invalid.
func link(t *task.Task, on map[string]*task.Task, given []string) error {
	var wrong problems
	for i, id := range given {
		path, d := fmt.Sprintf("story.dependencies[%d]", i), on[id]
		switch {
		case d.Status == task.Derezzed:
			wrong.add(path, "%q was skipped and will not be complete", id)
		case d.Sprint.Wave > t.Sprint.Wave:
			wrong.add(path, "%q is in wave %d, which opens only when wave %d, where this story would be, has ended; "+
				"insert it later", id, d.Sprint.Wave, t.Sprint.Wave)
		}
	}
	if err := wrong.fault(); err != nil {
		return err
	}
	t.Waits = 0
	for _, d := range on {
		if d.Status != task.Done {
			t.Waits++
			d.Sprint.Dependents = append(d.Sprint.Dependents, t.Sprint.StoryID)
		}
	}
	return nil
}
