package pauses

import (
	"context"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Service keeps the pauses of all users. Its methods are safe for concurrent use.
type Service struct {
	DB  *store.DB
	Now func() time.Time
	// Changed is called after the pauses of a user have changed. It may be nil.
	Changed func(user string)
}

// Doc is the document of a pause.
type Doc struct {
	Scope identity.PauseScope `json:"scope"`
	Name  string              `json:"name,omitempty"`
	Words string              `json:"words,omitempty"`
	By    string              `json:"by"`
	At    time.Time           `json:"at"`
}

// inForce is the collection of pauses in force.
var inForce = store.Collection[Doc]{Name: "pauses", PartOf: "a pause",
	Unindexed: []string{"scope", "name", "words", "by", "at"},
	Log:       "pause", Note: func(p *Doc, _ string) store.Note {
		return store.Note{Line: p.Words, State: string(p.Scope), Program: p.Name}
	}}

// Defs declares the collection of pauses.
func (*Service) Defs() []*store.Def { return []*store.Def{inForce.Def()} }

// maxPauses is the number of pauses that a user may have at once.
const maxPauses = 100

// docID returns the id of the document of a pause. Names are the same without case.
func docID(scope identity.PauseScope, name string) string {
	if scope == identity.Everything {
		return string(scope)
	}
	return string(scope) + ":" + identity.NameID(name)
}

// check returns Invalid if the scope and the name do not fit together.
func check(scope identity.PauseScope, name string) error {
	switch agent := strings.Contains(name, "/") || strings.HasPrefix(name, "key:"); {
	case scope == identity.Everything && name != "":
		return fault.Field("name", "must be left out with the scope everything")
	case scope != identity.Everything && name == "":
		return fault.Field("name", "is required with the scope %s", scope)
	case scope == identity.PausedAgent && !agent:
		return fault.Field("name", "must be a session's address such as claude/2, or key: and the short id of a key; "+
			"use the scope program for all sessions of a program")
	case scope == identity.PausedProgram && !identity.ValidName(name):
		return fault.Field("name", "must be the name of a program; use the scope agent for one session")
	}
	return nil
}

// Pause halts the agents that the input names, from now until [Service.Resume]. A pause of the same is replaced, with
// its words. More than 100 pauses at once are Precondition.
func (s *Service) Pause(ctx context.Context, c identity.Caller, in Input) (View, error) {
	if err := check(in.Scope, in.Name); err != nil {
		return View{}, err
	}
	p := Doc{Scope: in.Scope, Name: in.Name, Words: in.Words, By: c.Actor(), At: s.Now()}
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		page, err := inForce.Query(ctx, tx, store.Query{Limit: maxPauses + 1})
		if err != nil {
			return err
		}
		id := docID(in.Scope, in.Name)
		others := 0
		for _, d := range page.Docs {
			if d.ID != id {
				others++
			}
		}
		if others >= maxPauses {
			return fault.New(fault.Precondition, "%d pauses are in force; resume some, or pause everything", others)
		}
		inForce.Put(tx, id, p)
		return nil
	})
	s.changed(c.User, err)
	return view(p), err
}

// Resume ends a pause. It is NotFound if there is none; the message has those that are in force.
func (s *Service) Resume(ctx context.Context, c identity.Caller, in ResumeInput) (ResumeOutput, error) {
	if err := check(in.Scope, in.Name); err != nil {
		return ResumeOutput{}, err
	}
	var out ResumeOutput
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		page, err := inForce.Query(ctx, tx, store.Query{Limit: maxPauses})
		if err != nil {
			return err
		}
		id, found := docID(in.Scope, in.Name), false
		var others []string
		out = ResumeOutput{Remaining: []View{}}
		for _, d := range page.Docs {
			if d.ID == id {
				out.Resumed, found = view(d.Value), true
				continue
			}
			out.Remaining = append(out.Remaining, view(d.Value))
			others = append(others, d.Value.pause().String())
		}
		if !found {
			return notPaused(in, others)
		}
		inForce.Delete(tx, id)
		return nil
	})
	s.changed(c.User, err)
	return out, err
}

func notPaused(in ResumeInput, others []string) error {
	paused := "nothing is paused"
	if len(others) > 0 {
		paused = "paused are " + strings.Join(others, ", ")
	}
	return fault.New(fault.NotFound, "%s is not paused; %s", identity.Pause{Scope: in.Scope, Name: in.Name}, paused)
}

func (s *Service) changed(user string, err error) {
	if err == nil && s.Changed != nil {
		s.Changed(user)
	}
}

// List returns all pauses in force.
func (s *Service) List(ctx context.Context, c identity.Caller, _ ListInput) (ListOutput, error) {
	out := ListOutput{Pauses: []View{}}
	page, err := inForce.Query(ctx, s.DB.User(c.User), store.Query{Limit: maxPauses})
	for _, d := range page.Docs {
		out.Pauses = append(out.Pauses, view(d.Value))
	}
	return out, err
}

// InForce returns the pauses of a user.
func (s *Service) InForce(ctx context.Context, user string) ([]identity.Pause, error) {
	var out []identity.Pause
	page, err := inForce.Query(ctx, s.DB.User(user), store.Query{Limit: maxPauses})
	for _, d := range page.Docs {
		out = append(out, d.Value.pause())
	}
	return out, err
}

// Follow calls check at once and after changes of the user's pauses, until it returns true or d is over.
func (s *Service) Follow(ctx context.Context, user string, d time.Duration, check func(context.Context) (bool, error)) error {
	return inForce.Wait(ctx, s.DB.User(user), nil, d, check)
}

func (d Doc) pause() identity.Pause {
	return identity.Pause{Scope: d.Scope, Name: d.Name, Words: d.Words, By: d.By, At: d.At}
}

func view(d Doc) View {
	return View(d)
}
