package relay

import (
	"parley.internal/shared/domain"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// text is the text of the message for search.
func (m *Message) text(r store.Ref) store.Text {
	programs := identity.Names(m.Source, m.Target)
	return store.Text{Kind: "message", ID: r.ID, Title: m.Type + " from " + m.Source + " to " + m.Target,
		Body: store.Paragraphs(m.Text, m.Context), At: m.CreatedAt, Programs: programs, Readers: programs}
}

// sentBy reports whether the caller sent the message. A message without a sender is its verified source's.
func (m *Message) sentBy(c identity.Caller) bool {
	if m.Sender == (identity.Owner{}) && m.Verified {
		return identity.Owner{Program: m.Source}.Is(c)
	}
	return m.Sender.Is(c)
}

// Searches returns the collection of messages, for the search. A caller finds the mail that it may read or has sent.
func (s *Service) Searches() []domain.Search {
	return []domain.Search{domain.Searching(messages, func(c identity.Caller, m *Message, _ store.Ref) bool {
		return c.InToolset("relay") && (mayRead(c, m.Target) || m.sentBy(c))
	})}
}
