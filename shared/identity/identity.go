package identity

import (
	"regexp"
	"slices"

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

// Caller is the verified caller of an operation.
type Caller struct {
	// User owns the data. No operation reaches the data of another user.
	User string
	// Program is the program that the key speaks for, empty if the key is bound to none.
	Program string
	// KeyID names the key in lists and records. It is not secret.
	KeyID string
	Kind  KeyKind
	// Scopes restrict the key. Without scopes it may read and write in every toolset.
	Scopes []string
	// ReadOnly is set by a read-only endpoint and overrides the scopes.
	ReadOnly bool
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

// InToolset reports whether the key may use the toolset. A key whose scopes name no toolset may use all of them.
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

// SpeaksAs returns the program in whose name the caller acts. A bound key acts as its own program, which is verified:
// name must be empty or that program, and any other is Forbidden. An unbound key acts under any name, unverified.
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

// ValidName reports whether s can be the name of a user or a program: 1 to 100 ASCII letters, digits, dots, underscores
// and hyphens, of which the first is a letter or digit.
func ValidName(s string) bool { return name.MatchString(s) }
