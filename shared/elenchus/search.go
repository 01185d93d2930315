package elenchus

import (
	"parley.internal/shared/domain"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// text is the text of a verification for search. Its issues have texts of their own.
func (s *Session) text(r store.Ref) store.Text {
	return about(r.ID, store.Text{Title: s.Target, Body: s.Requirements, At: s.CreatedAt, Programs: identity.Names(s.By)})
}

func (i *Issue) text(r store.Ref) store.Text {
	at := i.RaisedAt
	if at.IsZero() && len(i.Transitions) > 0 {
		at = i.Transitions[0].At
	}
	return about(r.ParentOf(), store.Text{Title: i.Summary, Body: store.Paragraphs(i.Location, i.Description, i.Evidence),
		At: at})
}

// about completes the text of a part of a verification, which every agent of the account may read.
func about(id string, t store.Text) store.Text {
	t.Kind, t.ID, t.Readers = "verification", id, []string{store.Everybody}
	return t
}

// Searches returns the collections of verifications, for the search.
func (s *Service) Searches() []domain.Search {
	return []domain.Search{
		domain.Searching(sessions, func(c identity.Caller, v *Session, _ store.Ref) bool {
			return c.InToolset(toolset) && !v.Purging
		}),
		domain.Searching(issues, func(c identity.Caller, _ *Issue, _ store.Ref) bool { return c.InToolset(toolset) }),
	}
}
