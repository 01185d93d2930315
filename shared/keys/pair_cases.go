package keys

import (
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// asks is a client on another machine that asks for a key.
var asks = op.In{"client": "claude", "program": "gamma", "machine": "build-vm", "directory": "/srv/shop"}

// These are pairings whose code a person sees, that one approved, and that one denied.
var (
	shown    = []op.Step{{Op: "request_pairing", In: asks, Save: "userCode as code"}}
	approved = op.After(shown, op.Step{Op: "approve_pairing", As: op.Human, In: op.In{"userCode": "$code"}})
	denied   = op.After(shown, op.Step{Op: "deny_pairing", As: op.Human, In: op.In{"userCode": "$code"}})
)

// forAll are the rights of calls that need no key.
var forAll = op.Rights{Program: op.May, Unbound: op.May, Human: op.May}

// pairingRPCs is the budget of a decision: the person's guesses, the pairing, the programs, the approver's key, and a
// transaction.
const pairingRPCs = 7

func requestPairingCases() op.Cases {
	return op.Cases{Rights: forAll, Examples: []op.Example{
		{In: asks},
		{Name: "with scopes", In: op.In{"client": "codex", "program": "gamma", "machine": "vm", "scopes": []string{"read", "relay"}}},
		{Name: "by a key of no program", As: op.Unbound, In: asks},
	}, Refused: []op.Refusal{
		{Name: "no machine", In: `{"client":"claude","program":"gamma"}`, Path: "machine", Words: "is required"},
		{Name: "an escape in a name", In: `{"client":"claude","program":"gamma","machine":"vm\u001b[2J"}`, Path: "machine",
			Words: "must be one line of printable characters"},
		{Name: "text that runs backwards", In: `{"client":"claude\u202e","program":"gamma","machine":"vm"}`, Path: "client",
			Words: "must be one line of printable characters"},
		{Name: "a reserved program", In: `{"client":"claude","program":"any","machine":"vm"}`, Path: "program", Words: "is reserved"},
		{Name: "the scope admin", In: `{"client":"claude","program":"gamma","machine":"vm","scopes":["admin"]}`, Path: "scopes",
			Words: `"admin" is no scope of a paired agent`},
		{Name: "no scope at all", In: `{"client":"claude","program":"gamma","machine":"vm","scopes":[]}`, Path: "scopes",
			Words: "must not be empty; leave it out for read and write"},
	}}
}

func collectPairingCases() op.Cases {
	ready := []op.Step{{Op: "request_pairing", In: asks, Save: "deviceCode as device, userCode as code"}}
	return op.Cases{Rights: forAll, Shared: []string{"deviceCode"}, RPCs: pairingRPCs, Examples: []op.Example{
		{Given: op.After(ready, op.Step{Op: "approve_pairing", As: op.Human, In: op.In{"userCode": "$code"}}),
			In: op.In{"deviceCode": "$device"}},
		{Name: "before it is approved", Given: ready, In: op.In{"deviceCode": "$device"}, Fault: fault.Precondition},
		{Name: "too late", Given: ready, Pass: pairingFor, In: op.In{"deviceCode": "$device"}, Fault: fault.Precondition},
		{Name: "with no device code", In: op.In{"deviceCode": "guessed"}, Fault: fault.Unauthenticated, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "no code", In: `{}`, Path: "deviceCode", Words: "is required"},
	}}
}

func getPairingCases() op.Cases {
	return op.Cases{Rights: forPeople, Shared: []string{"userCode"}, RPCs: pairingRPCs, Examples: []op.Example{
		{Given: shown, As: op.Human, In: op.In{"userCode": "$code"}},
		{Name: "on a paired device", Given: shown, As: op.Device, In: op.In{"userCode": "$code"}},
		{Name: "by its end", Given: shown, Pass: pairingFor, As: op.Human, In: op.In{"userCode": "$code"}},
		{Name: "of a code that nobody has", As: op.Human, In: op.In{"userCode": "bcdf-ghjk"}, Fault: fault.NotFound},
		{Name: "by an agent", Given: shown, In: op.In{"userCode": "$code"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a code of other letters", As: op.Human, In: `{"userCode":"ABCD-EFGH"}`, Path: "userCode",
			Words: "must be a code of eight letters"},
	}}
}

func approvePairingCases() op.Cases {
	return op.Cases{Rights: forPeople, Shared: []string{"userCode"}, RPCs: pairingRPCs, Examples: []op.Example{
		{Given: shown, As: op.Human, In: op.In{"userCode": "$code"}},
		{Name: "with everything", Given: shown, As: op.Device, In: op.In{"userCode": "$code", "program": "delta",
			"scopes": []string{"read"}, "label": "the reviewer"}},
		{Name: "twice", Given: approved, As: op.Human, In: op.In{"userCode": "$code"}, Fault: fault.Precondition},
		{Name: "after a denial", Given: denied, As: op.Human, In: op.In{"userCode": "$code"}, Fault: fault.Precondition},
		{Name: "too late", Given: shown, Pass: pairingFor, As: op.Human, In: op.In{"userCode": "$code"}, Fault: fault.Precondition},
		{Name: "by an agent", Given: shown, In: op.In{"userCode": "$code"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "the scope admin", Given: shown, As: op.Human, In: `{"userCode":"$code","scopes":["admin"]}`, Path: "scopes",
			Words: `"admin" is no scope of a paired agent`},
		{Name: "no scope at all", Given: shown, As: op.Human, In: `{"userCode":"$code","scopes":[]}`, Path: "scopes",
			Words: "must not be empty; leave it out for those that were asked for"},
		{Name: "a reserved program", Given: shown, As: op.Human, In: `{"userCode":"$code","program":"user"}`, Path: "program",
			Words: "is reserved"},
	}}
}

func denyPairingCases() op.Cases {
	return op.Cases{Rights: forPeople, Shared: []string{"userCode"}, RPCs: pairingRPCs, Examples: []op.Example{
		{Given: shown, As: op.Human, In: op.In{"userCode": "$code"}},
		{Name: "after an approval", Given: approved, As: op.Human, In: op.In{"userCode": "$code"}, Fault: fault.Precondition},
		{Name: "by an agent", Given: shown, In: op.In{"userCode": "$code"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a code of two letters", As: op.Human, In: `{"userCode":"BC"}`, Path: "userCode", Words: "must be a code of eight letters"},
	}}
}
