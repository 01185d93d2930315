package team

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Service implements the operations of teams. All methods are safe for concurrent use.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
	// Keep is the time for which a message is kept once it is read, 0 for as long as its team.
	Keep time.Duration
	// Keys makes the keys of members with a process. Without it they get none.
	Keys Keys
}

// Keys makes and revokes the keys of members as part of transactions.
type Keys interface {
	// IssueMember creates the key of a member before the first write of a transaction, as a child of the key with the id
	// parent.
	IssueMember(ctx context.Context, tx *store.Tx, user, parent, team, member string) (secret, id string, err error)
	// RevokeIn prepares to revoke a key in a transaction that has not written; write does it.
	RevokeIn(ctx context.Context, tx *store.Tx, id string) (write func(), err error)
	// Committed must be called after the commit, with the ids of the revoked keys.
	Committed(ctx context.Context, user string, revoked ...string)
}

// revocation prepares to revoke the key of a process that ends, in a transaction that has not written.
func (s *Service) revocation(ctx context.Context, tx *store.Tx, p *storedProcess) (write func(), err error) {
	if s.Keys == nil || p.KeyID == "" {
		return func() {}, nil
	}
	return s.Keys.RevokeIn(ctx, tx, p.KeyID)
}

// committed finishes the issue of a key, or the revocation of those with the given ids.
func (s *Service) committed(ctx context.Context, user string, revoked ...string) {
	if s.Keys != nil {
		s.Keys.Committed(ctx, user, revoked...)
	}
}

// Create creates a team that the caller leads. A caller that already leads a team is
// Precondition, a name in use Exists, and a malformed name Invalid.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	var out CreateOutput
	if err := checkName(in.TeamName); err != nil {
		return out, err
	}
	now := s.Now()
	cfg := newConfig(in.TeamName, in.Description, in.Model, in.Cwd, s.NewID(), now.UnixMilli())
	id := s.NewID()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(ctx context.Context, tx *store.Tx) (CreateOutput, error) {
		d := document{Config: cfg, ID: id, Owner: leader(c), FounderKey: c.KeyID}
		if err := d.mayCreate(ctx, tx, c); err != nil {
			return out, err
		}
		createTeam(tx, d, Board{Tasks: []Node{}})
		return CreateOutput{TeamName: cfg.Name, LeadAgentID: cfg.LeadAgentID, LeadSessionID: cfg.LeadSessionID}, nil
	})
}

// mayCreate returns Precondition if the owner of a new team leads another, and Exists if its name is in use.
func (d *document) mayCreate(ctx context.Context, r store.Reader, c identity.Caller) error {
	var leads, led leadership
	var existing document
	name := teams.Fetch(docID(d.Name), &existing)
	fetches := []*store.Fetch{name, leaderships.Fetch(d.Owner, &leads)}
	// Older documents have the program as it was spelled.
	if spelled := "program:" + c.Program; c.Bound() && spelled != d.Owner {
		fetches = append(fetches, leaderships.Fetch(spelled, &led))
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return err
	}
	if team := cmp.Or(leads.Team, led.Team); team != "" {
		return fault.New(fault.Precondition, "Session already has active team: %s. One team per session.", team)
	}
	if name.Found {
		return fault.New(fault.Exists, "Team '%s' already exists", d.Name)
	}
	return nil
}

// createTeam writes the documents of a new team.
func createTeam(tx *store.Tx, d document, b Board) {
	teams.Create(tx, docID(d.Name), d)
	boards.Put(tx, docID(d.Name), b)
	leaderships.Create(tx, d.Owner, leadership{Team: d.Name})
}

// Delete deletes a team; its lead may then create another. The sweep deletes the rest of the
// team's documents. A caller that does not lead the team is Forbidden, a team with teammates
// Precondition.
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
		if err := d.mayLead(c); err != nil {
			return err
		}
		if n := len(d.Members) - 1; n > 0 {
			return fault.New(fault.Precondition,
				"Cannot delete team %s: %d non-lead member(s) still present. Remove all teammates before deleting.",
				in.TeamName, n)
		}
		teams.Delete(tx, docID(in.TeamName))
		boards.Delete(tx, docID(in.TeamName))
		hearings.Delete(tx, docID(in.TeamName))
		leaderships.Delete(tx, d.Owner)
		deletions.Put(tx, d.ID, deletion{DueAt: now})
		return nil
	})
	return DeleteOutput{TeamName: in.TeamName, Deleted: err == nil}, err
}

// ReadConfig returns a team, for those who belong to it with the prompts and the processes of its members. A team that
// does not exist is NotFound.
func (s *Service) ReadConfig(ctx context.Context, c identity.Caller, in NameInput) (ConfigOutput, error) {
	if err := checkName(in.TeamName); err != nil {
		return ConfigOutput{}, err
	}
	t := s.DB.User(c.User)
	d, err := load(ctx, t, in.TeamName)
	if fault.Is(err, fault.NotFound) {
		return ConfigOutput{}, errUnknownTeam(in.TeamName)
	}
	if err != nil {
		return ConfigOutput{}, err
	}
	if d.belongs(c) != nil {
		return d.withProcesses(nil, nil), nil
	}
	found, fetched := d.processFetches()
	if err := d.loadPrompts(ctx, t, slices.Collect(maps.Values(fetched))...); err != nil {
		return ConfigOutput{}, err
	}
	return d.withProcesses(found, fetched), nil
}

// loadPrompts reads the prompts of the teammates into their members, together with other fetches.
func (d *document) loadPrompts(ctx context.Context, r store.Reader, fetches ...*store.Fetch) error {
	found := make([]instruction, len(d.Members))
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
