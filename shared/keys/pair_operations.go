package keys

import (
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// RequestPairingInput is the input of request_pairing.
type RequestPairingInput struct {
	Client    string   `json:"client" allow:"nonempty,max=40" jsonschema:"the client of agents that asks, such as claude"`
	Program   string   `json:"program" allow:"nonempty,max=100,pattern=name" jsonschema:"the program that the key is to speak for; the next free name if it is taken"`
	Machine   string   `json:"machine" allow:"nonempty,max=100" jsonschema:"what the person calls the machine"`
	Directory string   `json:"directory,omitempty" allow:"max=500" jsonschema:"where the agent works; every directory if it is left out"`
	Scopes    []string `json:"scopes,omitempty" allow:"max=20,each=40" jsonschema:"read, write and names of toolsets; by default read and write"`
}

// RequestPairingOutput is the output of request_pairing, in the words of RFC 8628.
type RequestPairingOutput struct {
	DeviceCode              string    `json:"deviceCode" jsonschema:"the secret with which the key is collected"`
	UserCode                string    `json:"userCode" jsonschema:"what the person compares and writes"`
	VerificationURI         string    `json:"verificationUri" jsonschema:"where the person approves; a path of this server if it does not know its own address"`
	VerificationURIComplete string    `json:"verificationUriComplete" jsonschema:"the same with the code"`
	ExpiresAt               time.Time `json:"expiresAt"`
	IntervalSeconds         int       `json:"intervalSeconds" jsonschema:"the least time between two calls of collect_pairing"`
}

// CollectPairingInput is the input of collect_pairing.
type CollectPairingInput struct {
	DeviceCode string `json:"deviceCode" allow:"nonempty,max=200" jsonschema:"that of request_pairing"`
}

// PairingInput names a pairing.
type PairingInput struct {
	UserCode string `json:"userCode" allow:"nonempty,max=20" jsonschema:"the code that the machine shows; case and hyphen do not matter"`
}

// ApprovePairingInput is the input of approve_pairing.
type ApprovePairingInput struct {
	PairingInput
	Program string   `json:"program,omitempty" allow:"max=100,pattern=name" jsonschema:"the program that the key speaks for; by default the requested one, or the next free name"`
	Scopes  []string `json:"scopes,omitempty" allow:"max=20,each=40" jsonschema:"read, write and names of toolsets; by default those that were asked for"`
	Label   string   `json:"label,omitempty" allow:"max=100" jsonschema:"what you call the key; by default client, machine and directory"`
}

// PairingView is a pairing as a person sees it. The names are the words of whoever asks.
type PairingView struct {
	UserCode  string    `json:"userCode"`
	State     string    `json:"state" allow:"enum=pending|approved|denied|expired"`
	Client    string    `json:"client"`
	Machine   string    `json:"machine"`
	Directory string    `json:"directory,omitempty"`
	Address   string    `json:"address,omitempty" jsonschema:"the network address that asks"`
	Requested string    `json:"requested" jsonschema:"the program that was asked for"`
	Program   string    `json:"program" jsonschema:"the program that the key speaks for, or would"`
	Scopes    []string  `json:"scopes" jsonschema:"what the key may do, or would"`
	Label     string    `json:"label"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (p pairing) view(code string, now time.Time) PairingView {
	v := PairingView{UserCode: shownCode(code), State: string(p.State), Client: p.Client, Machine: p.Machine, Directory: p.Directory,
		Address: p.Address, Requested: p.Program, Program: p.Program, Scopes: p.Scopes, Label: p.name(), CreatedAt: p.CreatedAt,
		ExpiresAt: p.ExpiresAt}
	if p.State == pairingPending && !now.Before(p.ExpiresAt) {
		v.State = "expired"
	}
	if g := p.Grant; g != nil {
		v.Program, v.Scopes, v.Label = g.Program, g.Scopes, g.Name
	}
	return v
}

// pairingOperations returns the operations by which another machine gets a key without a hand that copies it.
func (s *Service) pairingOperations(set string) []op.Op {
	deciding := func(spec op.Spec) op.Spec {
		spec.Toolset, spec.For, spec.RESTOnly, spec.Scopes = set, op.Humans, true, []string{identity.ScopeConsole}
		return spec
	}
	return []op.Op{
		op.New(op.Spec{Name: "request_pairing", Title: "Ask for a key", Toolset: set, Route: "POST /v1/pairings", Effect: op.Write,
			Open: true, RESTOnly: true, Creates: true, Secret: true, Cases: requestPairingCases,
			Doc: "Ask for a key of an agent on this machine, which a person approves on the console's page, by the code that is " +
				"shown to both. It needs no key. It follows RFC 8628, the device authorization grant of OAuth: show userCode and " +
				"verificationUri, then ask with deviceCode every intervalSeconds. It is good for 10 minutes."}, s.RequestPairing),
		op.New(op.Spec{Name: "collect_pairing", Title: "Collect an approved key", Toolset: set, Route: "POST /v1/pairings/token",
			Effect: op.Write, Open: true, RESTOnly: true, Secret: true, Cases: collectPairingCases,
			Doc: "Give the device that asked its key, once a person has approved. It needs no key. Until then it fails, and the " +
				"first of the details says why, in the words of RFC 8628: authorization_pending (409, ask again after the interval), " +
				"slow_down (429, ask less often), access_denied (403) or expired_token (409). Within a minute the same device gets " +
				"the same key again."}, s.CollectPairing),
		op.New(deciding(op.Spec{Name: "get_pairing", Title: "Who asks for a key", Route: "GET /v1/pairings/{userCode}",
			Effect: op.Read, Cases: getPairingCases,
			Doc: "Show who asks for a key by a code, from which address, and what the key would be able to do. The names are the " +
				"words of whoever asks. Ten wrong codes an hour are answered."}), s.GetPairing),
		op.New(deciding(op.Spec{Name: "approve_pairing", Title: "Approve a pairing", Route: "POST /v1/pairings/{userCode}/approve",
			Effect: op.Write, Cases: approvePairingCases,
			Doc: "Let the machine that shows the code collect a key of an agent of yours, bound to a program, with an agent's scopes " +
				"or fewer. Approve only what you started yourself."}), s.ApprovePairing),
		op.New(deciding(op.Spec{Name: "deny_pairing", Title: "Deny a pairing", Route: "POST /v1/pairings/{userCode}/deny",
			Effect: op.Write, Cases: denyPairingCases,
			Doc: "Refuse a key to the machine that shows the code."}), s.DenyPairing),
	}
}
