package passkeys

import (
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The rights of other callers. A challenge is the key's that asked for it, so another key of the person cannot use it.
var (
	forPeople = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	ownOnly   = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.MayNot}
)

// What passkeys make of the challenge that was saved as request.
var (
	created = op.Made{By: "a passkey", From: "request", Like: op.In{"id": "ID", "clientDataJSON": "CLIENTDATA", "attestationObject": "ATTESTATION"}}
	another = op.Made{By: "another passkey", From: "request"}
	signed  = op.Made{By: "a use of the passkey", From: "request", Like: op.In{"id": "ID", "clientDataJSON": "CLIENTDATA",
		"authenticatorData": "AUTHENTICATORDATA", "signature": "SIGNATURE"}}
	signedByOther = op.Made{By: "a use of another passkey", From: "request"}
)

// The steps of the cases.
var (
	begun = []op.Step{{Op: "begin_passkey", As: op.Device, Save: "request as request"}}
	added = op.After(begun, op.Step{Op: "add_passkey", As: op.Device,
		In: op.In{"name": "my phone", "credential": created}, Save: "id as passkey"})
	proving = op.After(added, op.Step{Op: "prove_passkey", As: op.Device, Save: "request as request"})
	asked   = op.After(added, op.Step{Op: "ask_question", In: op.In{"question": "Shall I?", "assurance": "passkey"},
		Save: "questionId as question"})
	answering = op.After(asked, op.Step{Op: "prove_passkey", As: op.Device,
		In: op.In{"questionId": "$question", "response": "yes"}, Save: "request as request"})
)

func listCases() op.Cases {
	return op.Cases{RPCs: 1, Rights: forPeople, Examples: []op.Example{
		{Given: added, As: op.Device},
		{Name: "of none", As: op.Human},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a field that is none", As: op.Human, In: `{"all":true}`, Path: "all", Words: "is not a field here"},
	}}
}

func beginCases() op.Cases {
	const proof = "the proof is checked in a transaction of its own"
	return op.Cases{RPCs: 4, Rights: ownOnly, Examples: []op.Example{
		{As: op.Device},
		{Name: "of another one", Given: proving, As: op.Device, In: op.In{"proof": signed}, RPCs: 8, Over: proof},
		{Name: "of another one, without a proof", Given: added, As: op.Device, Fault: fault.Forbidden},
		{Name: "with a key on the machine, beside a device", Given: begun, As: op.Human, Fault: fault.Forbidden},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a proof that is no object", As: op.Device, In: `{"proof":"yes"}`, Path: "proof", Words: "must be of type object"},
	}}
}

func addCases() op.Cases {
	return op.Cases{RPCs: 5, Rights: ownOnly, Examples: []op.Example{
		{Given: begun, As: op.Device, In: op.In{"name": "my phone", "credential": created}},
		{Name: "for a challenge that counts already", Given: added, As: op.Device,
			In: op.In{"name": "another", "credential": another}, Fault: fault.Precondition},
		{Name: "by an agent", Given: begun, In: op.In{"name": "mine", "credential": created}, Fault: fault.Forbidden,
			RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a credential without its parts", As: op.Device, In: `{"name":"n","credential":{"id":"a"}}`,
			Path: "credential.clientDataJSON", Words: "is required"},
		{Name: "no base64url", As: op.Device,
			In:   `{"name":"n","credential":{"id":"a","clientDataJSON":"{}","attestationObject":"a"}}`,
			Path: "credential.clientDataJSON", Words: "must be base64url"},
	}}
}

func removeCases() op.Cases {
	const two = "the proof is checked in a transaction of its own"
	return op.Cases{RPCs: 10, Rights: ownOnly, Owned: []string{"passkeyId"}, Examples: []op.Example{
		{Given: proving, As: op.Device, In: op.In{"passkeyId": "$passkey", "proof": signed}, Over: two},
		{Name: "with another one's proof", Given: proving, As: op.Device,
			In: op.In{"passkeyId": "$passkey", "proof": signedByOther}, Fault: fault.Forbidden},
		{Name: "by an agent", Given: proving, In: op.In{"passkeyId": "$passkey", "proof": signed},
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "no proof", As: op.Device, In: `{"passkeyId":"a"}`, Path: "proof", Words: "is required"},
	}}
}

func proveCases() op.Cases {
	return op.Cases{RPCs: 4, Rights: forPeople, Owned: []string{"questionId"}, Examples: []op.Example{
		{Given: asked, As: op.Device, In: op.In{"questionId": "$question", "response": "yes"}},
		{Name: "to manage passkeys", Given: added, As: op.Device},
		{Name: "without a passkey", As: op.Device, Fault: fault.Precondition},
		{Name: "by an agent", Given: added, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a question without an answer", As: op.Device, In: `{"questionId":"a"}`, Path: "response", Words: "is required"},
		{Name: "an answer without a question", As: op.Device, In: `{"response":"yes"}`, Path: "questionId", Words: "is required"},
	}}
}

func answerCases() op.Cases {
	return op.Cases{RPCs: 8, Rights: ownOnly, Examples: []op.Example{
		{Given: answering, As: op.Device, In: op.In{"credential": signed}},
		{Name: "for a challenge of something else", Given: proving, As: op.Device, In: op.In{"credential": signed},
			Fault: fault.Precondition},
		{Name: "by an agent", Given: answering, In: op.In{"credential": signed}, Fault: fault.Forbidden,
			RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "an assertion without its parts", As: op.Device, In: `{"credential":{"id":"a"}}`,
			Path: "credential.clientDataJSON", Words: "is required"},
	}}
}
