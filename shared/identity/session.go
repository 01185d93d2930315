package identity

import (
	"regexp"
	"strings"

	"parley.internal/shared/fault"
)

// SessionHeader is the HTTP header with the session that a call belongs to: an id or an address.
const SessionHeader = "X-Parley-Session"

var session = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._:~-]*$`)

// maxSession is the longest id or address of a session, in characters.
const maxSession = 100

// Address returns the address of a program's session, such as "claude/2". The session is given by its id or by its
// address. Without a program the address is the id.
func Address(program, session string) string {
	owner, name, qualified := strings.Cut(session, "/")
	switch {
	case program == "" || session == "" || qualified && !Same(owner, program):
		return session
	case qualified:
		return program + "/" + name
	}
	return program + "/" + session
}

// SplitAddress returns the program and the session's name of an address. A text without a slash is a program alone.
func SplitAddress(address string) (program, name string) {
	program, name, _ = strings.Cut(address, "/")
	return program, name
}

// SameSession reports whether two texts name the same session of a program. An empty text names none.
func SameSession(program, a, b string) bool {
	return a == b || a != "" && b != "" && Same(Address(program, a), Address(program, b))
}

// InSession returns the caller of a call that belongs to a session, given by its id or address. A text that is neither
// is Invalid, and the address of another program's session is Forbidden to an agent's bound key.
func (c Caller) InSession(id string) (Caller, error) {
	if id == "" {
		return c, nil
	}
	if !session.MatchString(id) || len(id) > maxSession {
		return c, fault.New(fault.Invalid, "the session %.100q must be an id or an address such as claude/2, of at most %d "+
			"letters, digits and . _ : ~ -", id, maxSession)
	}
	c.Session = id
	return c, c.MayUse(id)
}

// MayUse returns Forbidden if a session's id is the address of a program that the caller may not speak as.
func (c Caller) MayUse(id string) error {
	program, name := SplitAddress(id)
	if name == "" {
		return nil
	}
	_, _, err := c.SpeaksAs(program)
	return err
}

// Names returns the programs of names and addresses, each once, without empty ones.
func Names(names ...string) []string {
	var out []string
	for _, name := range names {
		program, _ := SplitAddress(name)
		if _, has := Among(out, program); program != "" && !has {
			out = append(out, program)
		}
	}
	return out
}
