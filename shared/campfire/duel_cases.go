package campfire

import (
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The steps of a duel: alpha challenges beta, and gamma judges.
var (
	thrown = []op.Step{{Op: "campfire_throw_gauntlet",
		In: op.In{"fireId": "f", "challenger_name": "alpha", "target_name": "beta", "thesis_of_attack": "it is slow"}}}
	sworn = op.After(thrown, op.Step{Op: "campfire_take_oath_of_judgement", As: "gamma",
		In: op.In{"fireId": "f", "character_name": "gamma"}})
	struck = op.After(sworn, op.Step{Op: "campfire_strike_argument",
		In: op.In{"fireId": "f", "character_name": "alpha", "technical_evidence": "12 ms"}})
	held = op.After(struck, op.Step{Op: "campfire_hold_the_line", As: "beta",
		In: op.In{"fireId": "f", "character_name": "beta", "defense_rationale": "it is enough", "surrender": false}})
	ruled = op.After(held, op.Step{Op: "campfire_deliver_verdict", As: "gamma",
		In: op.In{"fireId": "f", "character_name": "gamma", "winner": "challenger",
			"ruling_rationale": "measured", "required_plan_mutation": "the new plan"}})
	abandon = op.Step{Op: "campfire_abandon_duel", In: op.In{"fireId": "f"}}
)

func throwCases() op.Cases {
	again := op.In{"fireId": "f", "challenger_name": "alpha", "target_name": "beta", "thesis_of_attack": "again"}
	return op.Cases{
		RPCs:   2,
		Rights: op.Rights{Program: op.May, Unbound: op.MayNot, Human: op.May},
		Named:  []string{"fireId"}, Examples: []op.Example{
			{Given: lit, In: op.In{"fireId": "f", "challenger_name": "alpha", "target_name": "beta",
				"thesis_of_attack": "Their index is too slow.", "deadline_minutes": 60}},
			{Name: "at a new fire", In: op.In{"fireId": "new", "challenger_name": "alpha", "target_name": "beta",
				"thesis_of_attack": "it is slow"}},
			{Name: "twice", Given: thrown, In: again, Fault: fault.Precondition},
			{Name: "of two characters", Given: lit, In: op.In{"fireId": "f", "challenger_name": "Gandalf",
				"target_name": "alpha/Saruman", "thesis_of_attack": "he turned"}},
			{Name: "as another program's character", Given: lit, Fault: fault.Forbidden, RPCs: op.NoRPCs,
				In: op.In{
					"fireId":           "f",
					"challenger_name":  "beta/Gandalf",
					"target_name":      "alpha",
					"thesis_of_attack": "not mine",
				}},
		}, Refused: []op.Refusal{
			{
				Name:  "a duel with oneself",
				In:    `{"fireId":"f","challenger_name":"alpha","target_name":"alpha","thesis_of_attack":"t"}`,
				Path:  "target_name",
				Words: "Challenger and Defender must be distinct identities.",
			},
		}}
}

func oathCases() op.Cases {
	return op.Cases{
		RPCs:   2,
		Rights: op.Rights{Program: op.May, Unbound: op.MayNot, Human: op.May},
		Owned:  []string{"fireId"}, Examples: []op.Example{
			{Given: thrown, As: "gamma", In: op.In{"fireId": "f", "character_name": "gamma"}},
			{
				Name:  "for another, by the human",
				Given: thrown,
				As:    op.Human,
				In:    op.In{"fireId": "f", "character_name": "gamma"},
			},
			{
				Name:  "by the Challenger",
				Given: thrown,
				In:    op.In{"fireId": "f", "character_name": "alpha"},
				Fault: fault.Forbidden,
			},
			{
				Name:  "as a program, by an unbound key",
				Given: thrown,
				As:    op.Unbound,
				In:    op.In{"fireId": "f", "character_name": "alpha"},
				Fault: fault.Forbidden,
				RPCs:  op.NoRPCs,
			},
			{
				Name:  "without a duel",
				Given: lit,
				In:    op.In{"fireId": "f", "character_name": "alpha"},
				Fault: fault.Precondition,
			},
			{
				Name:  "twice",
				Given: sworn,
				As:    "delta",
				In:    op.In{"fireId": "f", "character_name": "delta"},
				Fault: fault.Precondition,
			},
			{
				Name:  "at an unknown fire",
				In:    op.In{"fireId": "nowhere", "character_name": "alpha"},
				Fault: fault.NotFound,
			},
		}, Refused: []op.Refusal{
			{Name: "a blank name", As: op.Unbound, In: `{"fireId":"f","character_name":" "}`, Path: "character_name",
				Words: "character_name cannot be empty."},
		}}
}

func strikeCases() op.Cases {
	strike := op.In{"fireId": "f", "character_name": "alpha", "technical_evidence": "13 ms"}
	return op.Cases{
		RPCs:   2,
		Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May},
		Owned:  []string{"fireId"}, Examples: []op.Example{
			{Given: sworn, In: op.In{"fireId": "f", "character_name": "alpha",
				"technical_evidence": "12 ms for each read, measured."}},
			{Name: "before the oath", Given: thrown, In: strike, Fault: fault.Precondition},
			{Name: "twice", Given: struck, In: strike, Fault: fault.Precondition},
			{Name: "by the Defender", Given: sworn, As: "beta", In: op.In{"fireId": "f", "character_name": "beta",
				"technical_evidence": "e"}, Fault: fault.Forbidden},
			{Name: "by another program", Given: sworn, As: "delta", In: strike, Fault: fault.Forbidden},
			{Name: "at an unknown fire", In: op.In{"fireId": "nowhere", "character_name": "alpha",
				"technical_evidence": "e"}, Fault: fault.NotFound},
		}, Refused: []op.Refusal{
			{Name: "blank evidence", In: `{"fireId":"f","character_name":"alpha","technical_evidence":" "}`,
				Path:  "technical_evidence",
				Words: "technical_evidence cannot be empty."},
		}}
}

func holdCases() op.Cases {
	hold := op.In{"fireId": "f", "character_name": "beta", "defense_rationale": "it is enough", "surrender": false}
	return op.Cases{
		RPCs:   2,
		Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May},
		Owned:  []string{"fireId"}, Examples: []op.Example{
			{Given: struck, As: "beta", In: hold},
			{Name: "that surrenders", Given: struck, As: "beta",
				In: op.In{"fireId": "f", "character_name": "beta", "defense_rationale": "so it is", "surrender": true}},
			{Name: "for another, by the human", Given: struck, As: op.Human, In: hold},
			{Name: "by another program", As: "delta", In: hold, Fault: fault.Forbidden, Given: op.After(struck,
				op.Step{Op: "campfire_get_fire", As: "beta", In: op.In{"fireId": "f"}})},
			{Name: "before the strike", Given: sworn, As: "beta", In: hold, Fault: fault.Precondition},
			{Name: "at an unknown fire", Fault: fault.NotFound,
				In: op.In{"fireId": "nowhere", "character_name": "alpha", "defense_rationale": "r", "surrender": true}},
		}, Refused: []op.Refusal{
			{Name: "no word on surrender", In: `{"fireId":"f","character_name":"alpha","defense_rationale":"r"}`,
				Path: "surrender", Words: "is required"},
		}}
}

func verdictCases() op.Cases {
	by := func(name, fire string) op.In {
		return op.In{
			"fireId":                 fire,
			"character_name":         name,
			"winner":                 "challenger",
			"ruling_rationale":       "12 ms are too many.",
			"required_plan_mutation": "One file, with an index.",
		}
	}
	return op.Cases{
		RPCs:   2,
		Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May},
		Owned:  []string{"fireId"}, Examples: []op.Example{
			{Given: held, As: "gamma", In: by("gamma", "f")},
			{Name: "for the Judge, by the human", Given: held, As: op.Human, In: by("gamma", "f")},
			{Name: "by another than the Judge", Given: held, As: op.Human, In: by("delta", "f"), Fault: fault.Forbidden},
			{Name: "by another program", Given: held, As: "delta", In: by("gamma", "f"), Fault: fault.Forbidden},
			{Name: "before the defense", Given: struck, As: "gamma", In: by("gamma", "f"), Fault: fault.Precondition},
			{Name: "at an unknown fire", In: by("alpha", "nowhere"), Fault: fault.NotFound},
		}, Refused: []op.Refusal{
			{Name: "the Judge as winner", Path: "winner", Words: "must be one of challenger, defender",
				In: `{"fireId":"f","character_name":"alpha","winner":"judge","ruling_rationale":"r","required_plan_mutation":"p"}`},
		}}
}

func abandonCases() op.Cases {
	return op.Cases{
		RPCs:   2,
		Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May},
		Owned:  []string{"fireId"}, Examples: []op.Example{
			{Given: thrown, In: op.In{"fireId": "f"}},
			{Name: "by the Defender", Given: thrown, As: "beta", In: op.In{"fireId": "f"}},
			{Name: "by another program", Given: sworn, As: "delta", In: op.In{"fireId": "f"}, Fault: fault.Forbidden},
			{Name: "by an unbound key", Given: sworn, As: op.Unbound, In: op.In{"fireId": "f"}, Fault: fault.Forbidden},
			{Name: "that is over", Given: ruled, In: op.In{"fireId": "f"}, Fault: fault.Precondition},
			{Name: "at an unknown fire", In: op.In{"fireId": "nowhere"}, Fault: fault.NotFound},
		}, Refused: []op.Refusal{
			{Name: "the number of a duel", In: `{"fireId":"f","duel":1}`, Path: "duel", Words: "is not a field here"},
		}}
}

func duelsCases() op.Cases {
	page := op.After(ruled, thrown[0], abandon,
		op.Step{Op: "campfire_list_duels", In: op.In{"fireId": "f", "limit": 1}, Save: "nextCursor as cursor"})
	return op.Cases{RPCs: 2, Rights: anybody, Owned: []string{"fireId"}, Examples: []op.Example{
		{Given: ruled, In: op.In{"fireId": "f"}},
		{Name: "of a fire without any", Given: lit, In: op.In{"fireId": "f", "limit": 20}},
		{Name: "the next page", Given: page, In: op.In{"fireId": "f", "limit": 1, "cursor": "$cursor"}},
		{Name: "of an unknown fire", In: op.In{"fireId": "nowhere"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "too many", In: `{"fireId":"f","limit":21}`, Path: "limit", Words: "must be at most 20"},
	}}
}
