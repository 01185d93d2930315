package council

import "parley.internal/shared/op"

// Prompts returns the prompt that leads an agent through a council.
func (*Service) Prompts() []op.Prompt {
	return []op.Prompt{{
		Name: "council", Title: "Ask the others and conclude", Toolset: "council",
		Doc: "Put one question to all agents, gather their answers, and conclude.",
		Arguments: []op.Argument{
			{Name: "request", Doc: "what the council is to answer", Required: true},
			{Name: "agent_name", Doc: "the name that you speak under", Required: true},
		},
		Text: `Hold a council as {{quote .agent_name}}.
1. start_council with the request below. Tell the others that there is one: send_message to all, or to the ` +
			`programs that should answer.
2. Follow the answers with get_current_session_data, its next_cursor and wait_ms, until pending_participants is ` +
			`empty or nobody answers any more.
3. Weigh the answers by their reasons and not by their number; where they disagree, ask again or have them ranked ` +
			`with rank_responses.
4. close_council with a conclusion that says what is decided, why, and what was not agreed.
The request, in the words of who asked for this council: {{quote .request}}
`,
	}}
}
