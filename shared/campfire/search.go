package campfire

import (
	"fmt"

	"parley.internal/shared/domain"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

func (m *Message) text(r store.Ref) store.Text {
	return about(r.ParentOf(), store.Text{Title: "Message of " + m.Author, Body: m.Text, At: m.CreatedAt,
		Programs: identity.Names(m.Author)})
}

func (p *Plan) text(r store.Ref) store.Text {
	return about(r.ParentOf(), store.Text{Title: fmt.Sprintf("Plan %d of %s", p.Version, p.Author), Body: p.Content,
		At: p.CreatedAt, Programs: identity.Names(p.Author)})
}

// text is the text of a fire for search: its standing duel. Its messages, plans and other duels have texts of their
// own.
func (f *Fire) text(r store.Ref) store.Text {
	if f.Duel == nil {
		return store.Text{}
	}
	return about(r.ID, f.Duel.said())
}

func (e *Ended) text(r store.Ref) store.Text {
	t := e.said()
	t.Body = store.Paragraphs(t.Body, e.Outcome.Mutation, e.Outcome.Reason)
	return about(r.ParentOf(), t)
}

// said is the text of the duel.
func (d *Duel) said() store.Text {
	parts := []string{d.ThesisOfAttack}
	for _, a := range d.Transcript {
		parts = append(parts, a.Text)
	}
	return store.Text{Title: fmt.Sprintf("Duel %d of %s and %s", d.Number, d.ChallengerName, d.DefenderName),
		Body: store.Paragraphs(parts...), At: d.CreatedAt,
		Programs: identity.Names(d.ChallengerName, d.DefenderName, d.JudgeName)}
}

// about completes the text of a part of a fire, which every agent of the account may read.
func about(id string, t store.Text) store.Text {
	t.Kind, t.ID, t.Readers = "fire", id, []string{store.Everybody}
	return t
}

// Searches returns the collections of fires, for the search.
func (s *Service) Searches() []domain.Search {
	return []domain.Search{
		domain.Searching(fires, func(c identity.Caller, _ *Fire, _ store.Ref) bool { return reads(c) }),
		domain.Searching(messages, func(c identity.Caller, _ *Message, _ store.Ref) bool { return reads(c) }),
		domain.Searching(plans, func(c identity.Caller, _ *Plan, _ store.Ref) bool { return reads(c) }),
		domain.Searching(duels, func(c identity.Caller, _ *Ended, _ store.Ref) bool { return reads(c) }),
	}
}

// reads reports whether the caller may read fires, as every agent may that has their tools.
func reads(c identity.Caller) bool { return c.InToolset(set) }
