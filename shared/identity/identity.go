package identity

import (
	"regexp"
	"slices"

	"parley.internal/shared/fault"
)

// KeyKind says whom a key was given to.
type KeyKind string

// The kinds of key.
const (
	Agent KeyKind = "agent"
	Human KeyKind = "human"
)

// The scopes beside the names of toolsets.
const (
	ScopeRead  = "read"  // reading operations only, unless ScopeWrite is there too
	ScopeWrite = "write" // reading and writing operations
	ScopeAdmin = "admin" // what is otherwise a human's: making and revoking keys
)

// Caller is who makes a call, as the server verified it.
type Caller struct {
	// User owns the data. No operation reaches another user's.
	User string
	// Program is what the key speaks for; empty where it is bound to none.
	Program string
	// KeyID names the key in lists and records; it is not the secret.
	KeyID string
	Kind  KeyKind
	// Scopes narrow what the key may do; none means reading and writing in every toolset.
	Scopes []string
	// ReadOnly is set by a read-only endpoint, whatever the key may do.
	ReadOnly bool
}

// Bound says whether the key speaks for one program only.
func (c Caller) Bound() bool { return c.Program != "" }

// IsHuman says whether a person holds the key.
func (c Caller) IsHuman() bool { return c.Kind == Human }

// IsAdmin says whether the key carries the admin scope.
func (c Caller) IsAdmin() bool { return slices.Contains(c.Scopes, ScopeAdmin) }

// CanWrite says whether the call may change anything.
func (c Caller) CanWrite() bool {
	if c.ReadOnly {
		return false
	}
	return slices.Contains(c.Scopes, ScopeWrite) || !slices.Contains(c.Scopes, ScopeRead)
}

// InToolset says whether the key's scopes reach the toolset. A key whose scopes
// name no toolset reaches all of them.
func (c Caller) InToolset(name string) bool {
	named := false
	for _, s := range c.Scopes {
		if s == ScopeRead || s == ScopeWrite || s == ScopeAdmin {
			continue
		}
		if s == name {
			return true
		}
		named = true
	}
	return !named
}

// SpeaksAs returns the name that a caller goes by, which it gives itself. An empty name is
// the key's program. A bound key that gives another name is Forbidden, and the
// message has both. verified says whether the server knows the name to be true.
func (c Caller) SpeaksAs(name string) (program string, verified bool, err error) {
	if !c.Bound() {
		return name, false, nil
	}
	if name != "" && name != c.Program {
		return "", false, fault.New(fault.Forbidden, "this key speaks for %q and may not speak as %q", c.Program, name)
	}
	return c.Program, true, nil
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// ValidName says whether s can name a user or a program: 1 to 100 letters,
// digits, dots, underscores and hyphens, beginning with a letter or digit.
func ValidName(s string) bool { return name.MatchString(s) }
