package files

import (
	"fmt"

	"parley.internal/shared/identity"
)

// Holder is who holds a reservation or waits for one: a session of a program, or else a program or a key.
type Holder struct {
	Owner identity.Owner `json:"owner"`
	// Name is the program, or the short form of the key.
	Name string `json:"name"`
	// Session is the session's id, empty for a caller without one.
	Session string `json:"session,omitempty"`
}

// holderOf returns the holder that a call is made by. The session is the one that the call names.
func holderOf(c identity.Caller, session string) Holder {
	return Holder{Owner: c.Owner(), Name: c.Actor(), Session: session}
}

// same reports whether two holders are one.
func (h Holder) same(o Holder) bool {
	return h.Session == o.Session && h.Owner.Human == o.Owner.Human && h.Owner.KeyID == o.Owner.KeyID &&
		identity.Same(h.Owner.Program, o.Owner.Program)
}

// String describes the holder in a message: "alpha" (session alpha.1).
func (h Holder) String() string {
	name := h.Owner.String()
	if h.Owner.Human {
		name = h.Name
	}
	if h.Session == "" {
		return name
	}
	return fmt.Sprintf("%s (session %s)", name, h.Session)
}

// box returns the program whose inbox reaches the holder, empty if none does.
func (h Holder) box() string { return h.Owner.Program }
