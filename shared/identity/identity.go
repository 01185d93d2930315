package identity

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
)

// KeyKind is the kind of holder of a key.
type KeyKind string

// The kinds of key.
const (
	Agent KeyKind = "agent"
	Human KeyKind = "human"
)

// The scopes other than names of toolsets.
const (
	ScopeRead  = "read"  // reading operations only, unless ScopeWrite is present too
	ScopeWrite = "write" // reading and writing operations
	ScopeAdmin = "admin" // operations that otherwise need a human's key: creating and revoking keys
)

// The scopes that reach single operations, in any toolset.
const (
	ScopeAnswer  = "answer"  // listing and answering questions
	ScopeConsole = "console" // everything but making keys
	ScopeRunner  = "runner"  // claiming and reporting the processes of a team
)

// Scopes returns the scopes that are no toolsets.
func Scopes() []string {
	return []string{ScopeRead, ScopeWrite, ScopeAdmin, ScopeAnswer, ScopeConsole, ScopeRunner}
}

// Caller is the verified caller of an operation.
type Caller struct {
	// User owns the data. No operation reaches the data of another user.
	User string
	// Program is the program that the key speaks for, empty if the key is bound to none.
	Program string
	// KeyID names the key in lists and records. It is not secret.
	KeyID string
	Kind  KeyKind
	// Assurance is the certainty that a person acts, empty for agents.
	Assurance Assurance
	// Proved is set where a person used a passkey for the very act that the call is.
	Proved bool
	// Scopes restrict the key. Without scopes it may read and write in every toolset.
	Scopes []string
	// Team is the only team that a key with the scope runner serves, or the team of the member that the key was made for.
	Team string
	// Session is the session that the call belongs to, by its id or address; empty if it belongs to none.
	Session string
	// Member is the member of the team that the key was made for, empty for other keys.
	Member string
	// Address is the network address that the call came from, empty if it is not known.
	Address string
	// ExpiresAt is when the key expires, zero for never.
	ExpiresAt time.Time
	// ReadOnly is set by a read-only endpoint and overrides the scopes.
	ReadOnly bool
	// Reserved are the programs of the user's bound keys, known for an agent's calls. A key that is bound to none may not
	// act under their names.
	Reserved []string
	// ActsAs are the programs under whose names a key that is bound to none acts in the call, known where Pauses are.
	ActsAs []string
	// Pauses are those in force for the user, known for an agent's calls that a pause may halt.
	Pauses []Pause
}

// Bound reports whether the key speaks for one program only.
func (c Caller) Bound() bool { return c.Program != "" }

// IsHuman reports whether the key is of the kind human.
func (c Caller) IsHuman() bool { return c.Kind == Human }

// IsAdmin reports whether the key has the scope admin.
func (c Caller) IsAdmin() bool { return slices.Contains(c.Scopes, ScopeAdmin) }

// CanWrite reports whether the call may change data.
func (c Caller) CanWrite() bool {
	if c.ReadOnly {
		return false
	}
	return slices.Contains(c.Scopes, ScopeWrite) || !slices.Contains(c.Scopes, ScopeRead)
}

// Reach describes an operation for [Caller.Reaches].
type Reach struct {
	Toolset string
	// Scopes are the scopes other than the toolset's name that reach the operation. "*" stands for every scope.
	Scopes []string
	// Secret means that the operation makes a secret.
	Secret bool
}

// Reaches reports whether the key may use the operation by its scopes. A key whose scopes name no toolset and no
// operations may use all of them.
func (c Caller) Reaches(r Reach) bool {
	if slices.Contains(r.Scopes, "*") {
		return true
	}
	narrowed := false
	for _, s := range c.Scopes {
		switch s {
		case ScopeRead, ScopeWrite, ScopeAdmin:
			continue
		case ScopeConsole:
			if !r.Secret {
				return true
			}
		}
		if s == r.Toolset || slices.Contains(r.Scopes, s) {
			return true
		}
		narrowed = true
	}
	return !narrowed
}

// InToolset reports whether the key's scopes reach a toolset as a whole.
func (c Caller) InToolset(name string) bool { return c.Reaches(Reach{Toolset: name}) }

// SpeaksAs returns the name that a caller acts under. An empty name stands for the key's program; another name than its
// program is Forbidden to a bound key, and the message has both. An agent's key without a program is Forbidden the name
// of a program that the user has a bound key for. verified reports whether the key is bound to the name.
func (c Caller) SpeaksAs(name string) (program string, verified bool, err error) {
	switch {
	case c.IsHuman():
		return name, false, nil
	case !c.Bound():
		return name, false, c.MayName(name)
	case name != "" && !Same(name, c.Program):
		return "", false, fault.New(fault.Forbidden, "this key speaks for %q and may not speak as %q", c.Program, name)
	}
	return c.Program, true, nil
}

// MayName returns Forbidden if an agent's key without a program gives the name of a program that the user has a bound
// key for, with or without spaces around it, and nil in all other cases.
func (c Caller) MayName(name string) error {
	if c.IsHuman() || c.Bound() {
		return nil
	}
	if program, taken := Among(c.Reserved, strings.TrimSpace(name)); taken {
		return fault.New(fault.Forbidden,
			"%q has a key of its own; this key is bound to no program and may not act under that name", program)
	}
	return nil
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// ValidName reports whether s can be the name of a user or a program: 1 to 100 ASCII letters, digits, dots, underscores
// and hyphens, of which the first is a letter or digit.
func ValidName(s string) bool { return name.MatchString(s) }
