package domaintest

import "parley.internal/shared/identity"

// The ids of the keys that are bound to no program, as long as real ones. Keys of two users may have the same id,
// because only the user identifies a tenant.
const (
	UnboundKey = "0123456789abcdef"
	HumanKey   = "fedcba9876543210"
)

// Bound returns an agent whose key is bound to the program.
func Bound(user, program string) identity.Caller {
	return identity.Caller{User: user, Program: program, KeyID: "key-of-" + program, Kind: identity.Agent}
}

// Unbound returns an agent whose key is bound to no program.
func Unbound(user string) identity.Caller {
	return identity.Caller{User: user, KeyID: UnboundKey, Kind: identity.Agent}
}

// Human returns a person, whose key is bound to no program.
func Human(user string) identity.Caller {
	return identity.Caller{User: user, KeyID: HumanKey, Kind: identity.Human}
}

// Admin returns an agent whose key has the scope admin.
func Admin(user string) identity.Caller {
	return identity.Caller{
		User:   user,
		KeyID:  "key-of-admin",
		Kind:   identity.Agent,
		Scopes: []string{identity.ScopeAdmin},
	}
}

// Reader returns an unbound agent that calls over a read-only endpoint.
func Reader(user string) identity.Caller {
	return identity.Caller{User: user, KeyID: "key-of-reader", Kind: identity.Agent, ReadOnly: true}
}
