package team

import (
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Service is the teams of all users.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
}

// Create makes a team that the caller leads. A caller leads one at a time.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	var out CreateOutput
	if err := checkName(in.TeamName); err != nil {
		return out, err
	}
	now := s.Now()
	cfg := newConfig(in.TeamName, in.Description, s.NewID(), now.UnixMilli())
	who, id := leader(c), s.NewID()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(ctx context.Context, tx *store.Tx) (CreateOutput, error) {
		if err := mayCreate(ctx, tx, who, in.TeamName); err != nil {
			return out, err
		}
		place(tx, document{Config: cfg, ID: id, Owner: who}, Board{Tasks: []Node{}})
		return CreateOutput{TeamName: cfg.Name, LeadAgentID: cfg.LeadAgentID, LeadSessionID: cfg.LeadSessionID}, nil
	})
}

// mayCreate returns why an identity may not create a team of that name: Precondition where it leads a team, Exists where
// the name is taken.
func mayCreate(ctx context.Context, r store.Reader, who, name string) error {
	var held seat
	var there document
	seatFetch, teamFetch := seats.Fetch(who, &held), teams.Fetch(docID(name), &there)
	if err := store.Load(ctx, r, seatFetch, teamFetch); err != nil {
		return err
	}
	if seatFetch.Found {
		return fault.New(fault.Precondition, "Session already has active team: %s. One team per session.", held.Team)
	}
	if teamFetch.Found {
		return fault.New(fault.Exists, "Team '%s' already exists", name)
	}
	return nil
}

// place writes a new team.
func place(tx *store.Tx, d document, b Board) {
	teams.Create(tx, docID(d.Name), d)
	boards.Put(tx, docID(d.Name), b)
	seats.Create(tx, d.Owner, seat{Team: d.Name})
}

// Delete ends a team that has no teammates, and frees its lead for another. The sweep deletes the rest of its documents.
func (s *Service) Delete(ctx context.Context, c identity.Caller, in NameInput) (DeleteOutput, error) {
	if err := checkName(in.TeamName); err != nil {
		return DeleteOutput{}, err
	}
	now := s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		d, err := load(ctx, tx, in.TeamName)
		if err != nil {
			return err
		}
		if n := len(d.Members) - 1; n > 0 {
			return fault.New(fault.Precondition,
				"Cannot delete team %s: %d non-lead member(s) still present. Remove all teammates before deleting.",
				in.TeamName, n)
		}
		teams.Delete(tx, docID(in.TeamName))
		boards.Delete(tx, docID(in.TeamName))
		seats.Delete(tx, d.Owner)
		deletions.Put(tx, d.ID, deletion{DueAt: now})
		return nil
	})
	return DeleteOutput{TeamName: in.TeamName, Deleted: err == nil}, err
}

// ReadConfig reads a team.
func (s *Service) ReadConfig(ctx context.Context, c identity.Caller, in NameInput) (Config, error) {
	if err := checkName(in.TeamName); err != nil {
		return Config{}, err
	}
	t := s.DB.User(c.User)
	d, err := load(ctx, t, in.TeamName)
	if fault.Is(err, fault.NotFound) {
		return Config{}, fault.New(fault.NotFound, "Team %s not found", in.TeamName)
	}
	if err != nil {
		return Config{}, err
	}
	return d.Config, d.prompted(ctx, t)
}

// prompted gives the teammates their prompts, which stand beside the team.
func (d *document) prompted(ctx context.Context, r store.Reader) error {
	found := make([]instruction, len(d.Members))
	var fetches []*store.Fetch
	for i, m := range d.Members {
		if m.Name != Lead {
			fetches = append(fetches, prompts.Under(d.ID).Fetch(promptID(m.Name), &found[i]))
		}
	}
	if len(fetches) == 0 {
		return nil
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return err
	}
	for i := range d.Members {
		if m := &d.Members[i]; m.Name != Lead {
			m.Prompt = &found[i].Prompt
		}
	}
	return nil
}

func promptID(name string) string { return "of:" + name }
