package pauses

import (
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// rights are those of a person's orders.
var rights = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}

// paused are two pauses, of a program and of a team.
var paused = []op.Step{
	{Op: "pause_agents", As: op.Human, In: op.In{"scope": "program", "name": "beta", "words": "the plan changes"}},
	{Op: "pause_agents", As: op.Human, In: op.In{"scope": "team", "name": "crew"}},
}

func pauseCases() op.Cases {
	by := func(name string, in op.In) op.Example { return op.Example{Name: name, As: op.Human, In: in} }
	refused := func(name, in, path, words string) op.Refusal {
		return op.Refusal{Name: name, As: op.Human, In: in, Path: path, Words: words}
	}
	return op.Cases{RPCs: 2, Named: []string{"name"}, Rights: rights, Examples: []op.Example{
		by("", op.In{"scope": "program", "name": "beta", "words": "the plan changes"}),
		by("of everything", op.In{"scope": "everything"}),
		by("of one agent", op.In{"scope": "agent", "name": "beta/2"}),
		by("of a team", op.In{"scope": "team", "name": "crew"}),
		by("of a project", op.In{"scope": "project", "name": "parley"}),
		{Name: "again, with other words", Given: paused, As: op.Human,
			In: op.In{"scope": "program", "name": "BETA", "words": "lunch"}},
		{Name: "by an agent", In: op.In{"scope": "everything"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		refused("no scope", `{"name":"beta"}`, "scope", "is required"),
		refused("an unknown scope", `{"scope":"mood"}`, "scope", "must be one of everything, program"),
		refused("everything with a name", `{"scope":"everything","name":"beta"}`, "name", "must be left out"),
		refused("a program without a name", `{"scope":"program"}`, "name", "is required with the scope program"),
		refused("a program with a slash", `{"scope":"program","name":"beta/2"}`, "name", "use the scope agent"),
		refused("an agent without a session", `{"scope":"agent","name":"beta"}`, "name", "a session's address"),
		refused("words too long", `{"scope":"everything","words":"`+strings.Repeat("x", 501)+`"}`, "words",
			"must be at most 500 characters"),
	}}
}

func resumeCases() op.Cases {
	return op.Cases{RPCs: 2, Named: []string{"name"}, Rights: rights, Examples: []op.Example{
		{Given: paused, As: op.Human, In: op.In{"scope": "program", "name": "beta"}},
		{Name: "of what is not paused", Given: paused, As: op.Human, In: op.In{"scope": "program", "name": "gamma"},
			Fault: fault.NotFound},
		{Name: "where nothing is paused", As: op.Human, In: op.In{"scope": "everything"}, Fault: fault.NotFound},
		{Name: "by an agent", In: op.In{"scope": "everything"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "everything with a name", As: op.Human, In: `{"scope":"everything","name":"x"}`, Path: "name",
			Words: "must be left out"},
	}}
}

func listCases() op.Cases {
	// It answers every caller alike.
	everyone := op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	return op.Cases{RPCs: 1, Rights: everyone, Examples: []op.Example{
		{Given: paused},
		{Name: "where there are none"},
	}, Refused: []op.Refusal{
		{Name: "an unknown field", In: `{"scope":"team"}`, Path: "scope", Words: "is not a field"},
	}}
}
