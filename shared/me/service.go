package me

import (
	"context"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// Service implements the operation whoami. It is safe for concurrent use.
type Service struct {
	// Toolsets returns all toolsets.
	Toolsets func() []string
	// Limits are those of the server that answers; a zero field is no limit, or not known.
	Limits Limits
}

// Limits are the limits of a server for each key.
type Limits struct {
	CallsPerSecond float64 `json:"callsPerSecond,omitempty"`
	Burst          int     `json:"burst,omitempty" jsonschema:"calls at once"`
	BodyBytes      int     `json:"bodyBytes,omitempty" jsonschema:"of a request"`
	Waits          int     `json:"waits,omitempty" jsonschema:"calls of your key that may wait at once"`
	Documents      int64   `json:"documents,omitempty" jsonschema:"that the user may keep"`
	Bytes          int64   `json:"bytes,omitempty" jsonschema:"that the user may keep"`
	WaitMs         int64   `json:"waitMs" jsonschema:"the longest wait of a call"`
}

// Input is the input of whoami.
type Input struct{}

// Output is the output of whoami.
type Output struct {
	User      string             `json:"user" jsonschema:"the account"`
	Program   string             `json:"program,omitempty" jsonschema:"the name that you act under; without one you are known by keyId"`
	Actor     string             `json:"actor" jsonschema:"your name in records of what you did"`
	KeyID     string             `json:"keyId"`
	Kind      identity.KeyKind   `json:"kind"`
	Assurance identity.Assurance `json:"assurance,omitempty" jsonschema:"of a person: local for a key on the machine, device for a paired browser or a sign-in, passkey for a browser that a passkey signed in"`
	Scopes    []string           `json:"scopes" jsonschema:"none means reading and writing in every toolset"`
	ReadOnly  bool               `json:"readOnly"`
	Team      string             `json:"team,omitempty"`
	Member    string             `json:"member,omitempty" jsonschema:"your name in the team"`
	Session   string             `json:"session,omitempty" jsonschema:"the address of the session that your connection belongs to"`
	ExpiresAt time.Time          `json:"expiresAt,omitzero" jsonschema:"of the key; never where left out"`
	Toolsets  []string           `json:"toolsets" jsonschema:"those that the key reaches as a whole"`
	Limits    Limits             `json:"limits"`
}

// WhoAmI returns the server's record of the caller. Any key may call it.
func (s *Service) WhoAmI(_ context.Context, c identity.Caller, _ Input) (Output, error) {
	out := Output{User: c.User, Program: c.Program, Actor: c.Actor(), KeyID: c.KeyID, Kind: c.Kind,
		Assurance: c.Assurance, Scopes: append([]string{}, c.Scopes...), ReadOnly: !c.CanWrite(), Team: c.Team, Member: c.Member,
		Session:   identity.Address(c.Program, c.Session),
		ExpiresAt: c.ExpiresAt, Toolsets: []string{}, Limits: s.Limits}
	for _, set := range s.Toolsets() {
		if c.InToolset(set) {
			out.Toolsets = append(out.Toolsets, set)
		}
	}
	out.Limits.WaitMs = op.MaxWait.Milliseconds()
	return out, nil
}

// ServedByDefault makes its tool part of the default endpoint.
func (*Service) ServedByDefault() bool { return true }

// Operations returns the operation of the toolset me.
func (s *Service) Operations() []op.Op {
	return []op.Op{
		op.New(op.Spec{
			Name:    "whoami",
			Also:    op.ForAgents,
			Title:   "Who am I?",
			Toolset: "me",
			Route:   "GET /v1/me",
			Effect:  op.Read,
			Scopes:  []string{"*"},
			Cases:   cases,
			Doc: "Learn who you are here: your program, the kind, scopes and expiry of your key, the toolsets that it " +
				"reaches, and the limits of a call.",
		}, s.WhoAmI),
	}
}
