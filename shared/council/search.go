package council

import (
	"parley.internal/shared/domain"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// text is the text of a closed council for search: its conclusion. Its request and its responses have texts of their
// own.
func (s *Session) text(r store.Ref) store.Text {
	if s.Conclusion == nil {
		return store.Text{}
	}
	return about(r.ID, store.Text{Title: "Conclusion of " + s.Conclusion.Author, Body: s.Conclusion.Content,
		At: s.Conclusion.CreatedAt, Programs: identity.Names(s.Conclusion.Author, s.CreatedBy)})
}

func (q *Request) text(r store.Ref) store.Text {
	return about(r.ID, store.Text{Title: title(q.Content), Body: q.Content, At: q.CreatedAt,
		Programs: identity.Names(q.CreatedBy)})
}

func (f *Feedback) text(r store.Ref) store.Text {
	return about(r.ParentOf(), store.Text{Title: "Response " + f.Label + " of " + f.Author, Body: f.Content, At: f.CreatedAt,
		Programs: identity.Names(f.Author)})
}

// about completes the text of a part of a council, which every agent of the account may read.
func about(id string, t store.Text) store.Text {
	t.Kind, t.ID, t.Readers = "council", id, []string{store.Everybody}
	return t
}

// Searches returns the collections of councils, for the search. A council that is over is found for as long as it is
// stored.
func (s *Service) Searches() []domain.Search {
	return []domain.Search{
		domain.Searching(councils, func(c identity.Caller, v *Session, _ store.Ref) bool { return reads(c) && !v.Gone(s.Now()) }),
		domain.Searching(requests, func(c identity.Caller, _ *Request, _ store.Ref) bool { return reads(c) }),
		domain.Searching(responses, func(c identity.Caller, _ *Feedback, _ store.Ref) bool { return reads(c) }),
	}
}

// reads reports whether the caller may read councils, as every agent may that has their tools.
func reads(c identity.Caller) bool { return c.InToolset("council") }
