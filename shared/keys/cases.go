package keys

import (
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// gammas creates a key of the program gamma.
var gammas = []op.Step{{Op: "create_key", As: op.Human, In: op.In{"program": "gamma"}, Save: "id as key"}}

// The rights of other callers: people make, list and revoke keys, and agents whose key has the scope admin.
var forPeople = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}

func createCases() op.Cases {
	return op.Cases{Rights: forPeople, Examples: []op.Example{
		{As: op.Human, In: op.In{"name": "the reviewer", "program": "gamma"}},
		{Name: "with everything", As: op.Human, In: op.In{"name": "n", "program": "gamma", "kind": "agent",
			"scopes": []string{"write", "read", "relay"}, "expires": 3600}},
		{Name: "of a team's runner", As: op.Human, In: op.In{"scopes": []string{"runner"}, "team": "crew"}},
		{Name: "by an agent", In: op.In{"name": "n"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "by a key of no program", As: op.Unbound, In: op.In{"name": "n"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a team without the scope runner", As: op.Human, In: `{"team":"crew"}`, Path: "team",
			Words: "is allowed with the scope runner only"},
		{Name: "an unknown kind", As: op.Human, In: `{"kind":"robot"}`, Path: "kind",
			Words: "must be one of agent, human"},
		{Name: "an unknown scope", As: op.Human, In: `{"scopes":["everything"]}`, Path: "scopes",
			Words: `"everything" is not a scope; the scopes are read, write, admin`},
	}}
}

func listCases() op.Cases {
	page := op.After(gammas, gammas[0], op.Step{Op: "list_keys", As: op.Human, In: op.In{"limit": 1},
		Save: "nextCursor as cursor"})
	return op.Cases{Rights: forPeople, Examples: []op.Example{
		{Given: gammas, As: op.Human},
		{Name: "with a limit", Given: gammas, As: op.Human, In: op.In{"limit": 100}},
		{Name: "the next page", Given: page, As: op.Human, In: op.In{"limit": 1, "cursor": "$cursor"}},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a limit too large", As: op.Human, In: `{"limit":101}`, Path: "limit", Words: "must be at most 100"},
	}}
}

// Pairing another device is for devices: a person's key on the machine may not.
func linkCases() op.Cases {
	rights := op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.MayNot}
	return op.Cases{Rights: rights, Examples: []op.Example{
		{As: op.Device},
		{Name: "for the console", As: op.Device, In: op.In{"console": true}},
		{Name: "with a key on the machine", As: op.Human, Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a text in place of a boolean", As: op.Device, In: `{"console":"yes"}`, Path: "console",
			Words: "must be of type boolean"},
	}}
}

func revokeCases() op.Cases {
	revoked := op.After(gammas, op.Step{Op: "revoke_key", As: op.Human, In: op.In{"keyId": "$key"}})
	return op.Cases{Rights: forPeople, Owned: []string{"keyId"}, Examples: []op.Example{
		{Given: gammas, As: op.Human, In: op.In{"keyId": "$key"}},
		{Name: "twice", Given: revoked, As: op.Human, In: op.In{"keyId": "$key"}},
		{Name: "of a key that is nowhere", As: op.Human, In: op.In{"keyId": "nobody-made-this"}, Fault: fault.NotFound},
		{Name: "by an agent", Given: gammas, In: op.In{"keyId": "$key"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "an id with a slash", As: op.Human, In: `{"keyId":"a/b"}`, Path: "keyId",
			Words: "must match ^[A-Za-z0-9]"},
	}}
}

func giveBackCases() op.Cases {
	made := []op.Step{{Op: "create_key", As: op.Human, In: op.In{"program": "gamma"}, Save: "key as key"}}
	given := op.After(made, op.Step{Op: "give_back_key", In: op.In{"key": "$key"}})
	// The key is read to learn its holder, and again in the transaction.
	return op.Cases{Rights: forAll, Shared: []string{"key"}, RPCs: 4, Examples: []op.Example{
		{Given: made, In: op.In{"key": "$key"}},
		{Name: "twice", Given: given, In: op.In{"key": "$key"}},
		{Name: "of a key that is nowhere", In: op.In{"key": "parley_guessed"}, Fault: fault.Unauthenticated, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "no key", In: `{}`, Path: "key", Words: "is required"},
	}}
}
