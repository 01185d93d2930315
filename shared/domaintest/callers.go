package domaintest

import "parley.internal/shared/identity"

// The ids of the keys that are bound to no program, as long as a domain may ask
// of one. Keys of two users may have one id: only the user tells tenants apart.
const (
	UnboundKey = "0123456789abcdef"
	HumanKey   = "fedcba9876543210"
)

// Bound is an agent whose key speaks for the program alone.
func Bound(user, program string) identity.Caller {
	return identity.Caller{User: user, Program: program, KeyID: "key-of-" + program, Kind: identity.Agent}
}

// Unbound is an agent whose key speaks for no program.
func Unbound(user string) identity.Caller {
	return identity.Caller{User: user, KeyID: UnboundKey, Kind: identity.Agent}
}

// Human is a person, with a key of no program.
func Human(user string) identity.Caller {
	return identity.Caller{User: user, KeyID: HumanKey, Kind: identity.Human}
}

// Admin is an agent whose key carries the admin scope.
func Admin(user string) identity.Caller {
	return identity.Caller{User: user, KeyID: "key-of-admin", Kind: identity.Agent, Scopes: []string{identity.ScopeAdmin}}
}

// Reader is an unbound agent that came by a read-only endpoint.
func Reader(user string) identity.Caller {
	return identity.Caller{User: user, KeyID: "key-of-reader", Kind: identity.Agent, ReadOnly: true}
}
