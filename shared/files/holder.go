package files

import (
	"fmt"

	"parley.internal/shared/identity"
)

// Holder is the holder of a reservation, or of a place in the line for one: a session of a program, or else a program
// or a key. Its fields are those of the documents that embed it.
type Holder struct {
	Program string `json:"program,omitempty"`
	KeyID   string `json:"keyId,omitempty"`
	Human   bool   `json:"human,omitempty"`
	// Session is the session's id, empty for a caller without one.
	Session string `json:"session,omitempty"`
}

// holderOf returns the caller as a holder, with the session that the call names.
func holderOf(c identity.Caller, session string) Holder {
	o := c.Owner()
	return Holder{Program: o.Program, KeyID: o.KeyID, Human: o.Human, Session: session}
}

// same reports whether two holders are one.
func (h Holder) same(o Holder) bool {
	return h.Human == o.Human && h.KeyID == o.KeyID && identity.Same(h.Program, o.Program) &&
		identity.SameSession(h.Program, h.Session, o.Session)
}

// name returns the program, or the short form of the key.
func (h Holder) name() string {
	c := identity.Caller{Program: h.Program, KeyID: h.KeyID, Kind: identity.Agent}
	if h.Human {
		c.Kind = identity.Human
	}
	return c.Actor()
}

// address returns where messages reach the holder, empty if they do not.
func (h Holder) address() string {
	if h.Program == "" || h.Session == "" {
		return h.Program
	}
	return identity.Address(h.Program, h.Session)
}

// label names the holder: where messages reach it, or the short form of a key.
func (h Holder) label() string {
	if h.Program != "" {
		return h.address()
	}
	return h.name()
}

// who describes the holder in a message: "alpha/1", or the short form of a key.
func (h Holder) who() string {
	switch {
	case h.Program != "":
		return fmt.Sprintf("%q", h.address())
	case h.Session != "":
		return fmt.Sprintf("%s (session %s)", h.name(), h.Session)
	}
	return h.name()
}

// bytes is the size of the holder's texts in a document.
func (h Holder) bytes() int { return len(h.Program) + len(h.KeyID) + len(h.Session) }
