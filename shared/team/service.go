package team

import (
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/once"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Service is the teams of all users.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
}

// CreateInput is the input of team_create.
type CreateInput struct {
	op.Idempotency
	TeamName    string `json:"team_name" allow:"max=1000" jsonschema:"letters, digits, hyphens and underscores, at most 64"`
	Description string `json:"description,omitempty" allow:"max=2000"`
}

// CreateOutput is what team_create answers.
type CreateOutput struct {
	TeamName      string `json:"team_name"`
	LeadAgentID   string `json:"lead_agent_id"`
	LeadSessionID string `json:"lead_session_id"`
}

// NameInput names a team.
type NameInput struct {
	TeamName string `json:"team_name" allow:"max=1000"`
}

// DeleteOutput is what team_delete answers.
type DeleteOutput struct {
	TeamName string `json:"team_name"`
	Deleted  bool   `json:"deleted"`
}

// Create makes a team that the caller leads. A caller leads one at a time.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	var out CreateOutput
	if err := checkName(in.TeamName); err != nil {
		return out, err
	}
	now := s.Now()
	cfg := newConfig(in.TeamName, in.Description, s.NewID(), now.UnixMilli())
	who, key := leader(c), in.IdempotencyKey
	in.IdempotencyKey = ""
	return once.Do(ctx, s.DB.User(c.User), "team_create", key, now, in, func(ctx context.Context, tx *store.Tx) (CreateOutput, error) {
		var held seat
		var there document
		seatFetch, teamFetch := seats.Fetch(who, &held), teams.Fetch(docID(in.TeamName), &there)
		if err := store.Load(ctx, tx, seatFetch, teamFetch); err != nil {
			return out, err
		}
		if seatFetch.Found {
			return out, fault.New(fault.Precondition, "Session already has active team: %s. One team per session.", held.Team)
		}
		if teamFetch.Found {
			return out, fault.New(fault.Exists, "Team '%s' already exists", in.TeamName)
		}
		teams.Create(tx, docID(in.TeamName), document{Config: cfg, Owner: who})
		seats.Create(tx, who, seat{Team: in.TeamName})
		return CreateOutput{TeamName: cfg.Name, LeadAgentID: cfg.LeadAgentID, LeadSessionID: cfg.LeadSessionID}, nil
	})
}

// Delete ends a team that has no teammates, and frees its lead for another.
func (s *Service) Delete(ctx context.Context, c identity.Caller, in NameInput) (DeleteOutput, error) {
	if err := checkName(in.TeamName); err != nil {
		return DeleteOutput{}, err
	}
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		t, err := teams.Get(ctx, tx, docID(in.TeamName))
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "Team %s does not exist", in.TeamName)
		}
		if err != nil {
			return err
		}
		if n := len(t.Members) - 1; n > 0 {
			return fault.New(fault.Precondition, "Cannot delete team %s: %d non-lead member(s) still present. Remove all teammates before deleting.", in.TeamName, n)
		}
		teams.Delete(tx, docID(in.TeamName))
		seats.Delete(tx, t.Owner)
		return nil
	})
	return DeleteOutput{TeamName: in.TeamName, Deleted: err == nil}, err
}

// ReadConfig reads a team.
func (s *Service) ReadConfig(ctx context.Context, c identity.Caller, in NameInput) (Config, error) {
	if err := checkName(in.TeamName); err != nil {
		return Config{}, err
	}
	t, err := teams.Get(ctx, s.DB.User(c.User), docID(in.TeamName))
	if fault.Is(err, fault.NotFound) {
		return Config{}, fault.New(fault.NotFound, "Team %s not found", in.TeamName)
	}
	return t.Config, err
}

// Operations lists what there is for teams.
func (s *Service) Operations() []op.Op {
	const set = "team"
	return []op.Op{
		op.New(op.Spec{Name: "team_create", Title: "Create a team", Toolset: set, Route: "POST /v1/teams", Effect: op.Write, Creates: true,
			Doc: "Found a team of agents that you lead. You lead one team at a time."}, s.Create),
		op.New(op.Spec{Name: "team_delete", Title: "Delete a team", Toolset: set, Route: "DELETE /v1/teams/{team_name}", Effect: op.Destroy,
			Doc: "End a team that has no teammates left."}, s.Delete),
		op.New(op.Spec{Name: "team_read_config", Alias: "read_config", Title: "Read a team", Toolset: set, Route: "GET /v1/teams/{team_name}", Effect: op.Read,
			Doc: "Read a team: its lead and its members."}, s.ReadConfig),
	}
}
