package passkeys

import (
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// Created is the browser's result for a [Creation], in base64url without padding.
type Created struct {
	ID                string   `json:"id" allow:"nonempty,max=1400"`
	ClientDataJSON    string   `json:"clientDataJSON" allow:"nonempty,max=4000"`
	AttestationObject string   `json:"attestationObject" allow:"nonempty,max=16000"`
	Transports        []string `json:"transports,omitempty" allow:"max=10,each=40" jsonschema:"how the browser reaches what holds the passkey"`
}

// Assertion is the signature of a passkey for a [Request], in base64url without padding.
type Assertion struct {
	ID                string `json:"id" allow:"nonempty,max=1400"`
	ClientDataJSON    string `json:"clientDataJSON" allow:"nonempty,max=4000"`
	AuthenticatorData string `json:"authenticatorData" allow:"nonempty,max=4000"`
	Signature         string `json:"signature" allow:"nonempty,max=4000"`
	UserHandle        string `json:"userHandle,omitempty" allow:"max=100"`
}

// Creation is the browser's input to make a passkey: the options of navigator.credentials.create, with ids in base64url.
type Creation struct {
	Challenge  string   `json:"challenge" jsonschema:"good once, for 5 minutes"`
	RPID       string   `json:"rpId"`
	Origin     string   `json:"origin" jsonschema:"the one origin whose pages may use it"`
	UserID     string   `json:"userId"`
	UserName   string   `json:"userName"`
	Algorithms []int    `json:"algorithms"`
	Exclude    []string `json:"exclude" jsonschema:"the passkeys that there are"`
	TimeoutMs  int64    `json:"timeoutMs"`
}

// Request is the browser's input to use a passkey: the options of navigator.credentials.get, with ids in base64url.
type Request struct {
	Challenge string   `json:"challenge" jsonschema:"good once, for 5 minutes"`
	RPID      string   `json:"rpId"`
	Origin    string   `json:"origin" jsonschema:"the one origin whose pages may use it"`
	Allow     []string `json:"allow" jsonschema:"the passkeys that may be used; empty for any"`
	TimeoutMs int64    `json:"timeoutMs"`
}

// View is a passkey in lists.
type View struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Synced says that copies of the passkey are kept elsewhere.
	Synced     bool      `json:"synced" jsonschema:"copies of it are kept elsewhere, such as in a password manager"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
}

func view(id string, p Passkey) View {
	return View{ID: id, Name: p.Name, Synced: p.BackedUp, CreatedAt: p.CreatedAt, LastUsedAt: p.LastUsedAt}
}

// ListInput is the input of list_passkeys.
type ListInput struct{}

// ListOutput is the output of list_passkeys.
type ListOutput struct {
	Passkeys []View `json:"passkeys"`
	Origin   string `json:"origin,omitempty" jsonschema:"where passkeys work; empty if nowhere"`
	Why      string `json:"why,omitempty" jsonschema:"why they work nowhere"`
}

// BeginInput is the input of begin_passkey.
type BeginInput struct {
	Proof *Assertion `json:"proof,omitempty" jsonschema:"by a passkey that there is, for a challenge of prove_passkey; required unless this is the first one"`
}

// BeginOutput is the output of begin_passkey.
type BeginOutput struct {
	Request Creation `json:"request"`
}

// AddInput is the input of add_passkey.
type AddInput struct {
	Name       string  `json:"name" allow:"nonempty,max=100" jsonschema:"what you call it"`
	Credential Created `json:"credential"`
}

// RemoveInput is the input of remove_passkey.
type RemoveInput struct {
	PasskeyID string    `json:"passkeyId" allow:"nonempty,max=100,pattern=id"`
	Proof     Assertion `json:"proof" jsonschema:"by this passkey or another one, for a challenge of prove_passkey"`
}

// ProveInput is the input of prove_passkey.
type ProveInput struct {
	QuestionID string `json:"questionId,omitempty" allow:"max=100,pattern=id" jsonschema:"the question that is answered; where left out, the proof serves to add or remove a passkey"`
	Response   string `json:"response,omitempty" allow:"max=4000" jsonschema:"the answer that the passkey is used for"`
}

// ProveOutput is the output of prove_passkey.
type ProveOutput struct {
	Request Request `json:"request"`
}

// AnswerInput is the input of answer_with_passkey.
type AnswerInput struct {
	Credential Assertion `json:"credential" jsonschema:"for a challenge of prove_passkey, which named the question and the answer"`
}

// Answered is an answer that was recorded.
type Answered struct {
	QuestionID   string             `json:"questionId"`
	Status       string             `json:"status"`
	Response     string             `json:"response"`
	AnsweredAt   time.Time          `json:"answeredAt"`
	AnsweredBy   string             `json:"answeredBy"`
	AnsweredWith identity.Assurance `json:"answeredWith"`
}

// Operations returns the operations. They are in the toolset of keys: none is a tool, so they need no endpoint of their own.
func (s *Service) Operations() []op.Op {
	const set = "keys"
	console := []string{identity.ScopeConsole}
	answering := []string{identity.ScopeAnswer, identity.ScopeConsole}
	return []op.Op{
		op.New(op.Spec{Name: "list_passkeys", Title: "List passkeys", Toolset: set, Route: "GET /v1/passkeys", Effect: op.Read,
			For: op.Humans, RESTOnly: true, Scopes: console, Cases: listCases,
			Doc: "A person's passkeys, the oldest first, and the origin whose pages can use them."}, s.List),
		op.New(op.Spec{Name: "begin_passkey", Title: "Begin to add a passkey", Toolset: set, Route: "POST /v1/passkeys/begin",
			Effect: op.Write, For: op.Humans, RESTOnly: true, Scopes: console, Cases: beginCases,
			Doc: "Get a challenge with which a browser makes a passkey. The first one demands a paired device once there is " +
				"one, and each further one a proof by a passkey that there is."}, s.Begin),
		op.New(op.Spec{Name: "add_passkey", Title: "Add a passkey", Toolset: set, Route: "POST /v1/passkeys", Effect: op.Write,
			For: op.Humans, RESTOnly: true, Scopes: console, Cases: addCases,
			Doc: "Keep the passkey that a browser has made for a challenge of begin_passkey."}, s.Add),
		op.New(op.Spec{Name: "remove_passkey", Title: "Remove a passkey", Toolset: set,
			Route: "POST /v1/passkeys/{passkeyId}/remove", Effect: op.Destroy, For: op.Humans, RESTOnly: true, Scopes: console,
			Cases: removeCases, Doc: "Remove a passkey, and revoke the keys of the browsers that it signed in. It demands a " +
				"proof by this passkey or another one."}, s.Remove),
		op.New(op.Spec{Name: "prove_passkey", Title: "Begin to use a passkey", Toolset: set, Route: "POST /v1/passkeys/proofs",
			Effect: op.Write, For: op.Humans, RESTOnly: true, Scopes: answering, Cases: proveCases,
			Doc: "Get a challenge for a passkey: for one answer to one question, or to add or remove a passkey."}, s.Prove),
		op.New(op.Spec{Name: "answer_with_passkey", Title: "Answer with a passkey", Toolset: set,
			Route: "POST /v1/passkeys/answers", Effect: op.Write, For: op.Humans, RESTOnly: true, Scopes: answering,
			Cases: answerCases, Doc: "Give the answer for which a passkey was used, by a challenge of prove_passkey. It is " +
				"the one way to answer a question that demands a passkey."}, s.Answer),
	}
}
