package files

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// view returns the settings for a caller.
func (p Settings) view(project string) Settings {
	p.Project = project
	return p
}

// Settings returns the settings of a project. One that no person has set has all of them off.
func (s *Service) Settings(ctx context.Context, c identity.Caller, in ProjectInput) (Settings, error) {
	project, err := projectOf(in.Project)
	if err != nil {
		return Settings{}, err
	}
	var p Settings
	err = store.Load(ctx, s.DB.User(c.User), projects.Fetch(boardID(project), &p))
	return p.view(project), err
}

// Set gives a project new settings in place of those that it has. They hold for reservations that exist too.
func (s *Service) Set(ctx context.Context, c identity.Caller, in SettingsInput) (Settings, error) {
	project, err := projectOf(in.Project)
	if err != nil {
		return Settings{}, err
	}
	p := Settings{Project: project, Auto: in.Auto, Strict: in.Strict, IgnoreCase: in.IgnoreCase,
		RefuseWorktrees: in.RefuseWorktrees, UpdatedAt: s.Now()}
	err = s.DB.User(c.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		projects.Put(tx, boardID(project), p)
		return nil
	})
	return p, err
}
