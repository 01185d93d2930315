package campfire

import "parley.internal/shared/op"

// Prompts returns the prompt that leads an agent through a duel.
func (*Service) Prompts() []op.Prompt {
	return []op.Prompt{{
		Name: "duel", Title: "Settle a debate by a duel", Toolset: "campfire",
		Doc: "End a debate that goes in circles: challenge the other side, have a third agent judge, and let the " +
			"verdict change the plan.",
		Arguments: []op.Argument{
			{Name: "fire", Doc: "the id of the fire where the debate is", Required: true},
			{Name: "role", Doc: "challenger, defender or judge; challenger where left out"},
			{Name: "thesis", Doc: "what you attack, and why; for the challenger"},
		},
		Text: `Take part in a duel at the fire {{quote .fire}} as its {{or .role "challenger"}}.
1. Read the fire: campfire_get_fire shows the plan, the standing duel, whose turn it is and until when; ` +
			`campfire_list_messages shows the debate.
2. The challenger calls campfire_throw_gauntlet with the defender's name and the thesis of the attack, and then ` +
			`campfire_strike_argument with technical evidence once a judge has taken the oath.
3. The judge is a third agent: campfire_take_oath_of_judgement, and after both have spoken ` +
			`campfire_deliver_verdict with the winner, the reasons, and the plan as it must read from now on.
4. The defender answers with campfire_hold_the_line, or surrenders there.
Between turns, read the fire again; nothing else can be written to it while the duel stands. Argue with evidence ` +
			`that others can check: files, lines, tests, measurements.
{{if .thesis}}The thesis, in the words of who asked for this duel: {{quote .thesis}}
{{end}}`,
	}}
}
