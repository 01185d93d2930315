package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// workflow is a prompt that leads an agent through the tools of one toolset. Its text
// is this program's; what a caller fills in stands apart, and marked as theirs.
type workflow struct {
	name, title, doc, toolset string
	args                      []argument
	text                      *template.Template
}

type argument struct {
	name, doc string
	required  bool
}

// quoteLen is how much of an argument a prompt repeats, in characters.
const quoteLen = 8_000

// quote marks an argument as another's words, which cannot pass for the prompt's own.
func quote(s string) string {
	runes := []rune(s)
	return fmt.Sprintf("%q", string(runes[:min(len(runes), quoteLen)]))
}

func text(s string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"quote": quote}).Parse(s))
}

var workflows = []workflow{
	{"duel", "Settle a debate by a duel", "End a debate that goes in circles: challenge the other side, have a third agent judge, and let the verdict change the plan.", "campfire",
		[]argument{{"fire", "the id of the fire where the debate is", true}, {"role", "challenger, defender or judge; challenger where left out", false},
			{"thesis", "what you attack, and why; for the challenger", false}}, text(
			`Take part in a duel at the fire {{quote .fire}} as its {{or .role "challenger"}}.
1. Read the fire: campfire_get_fire shows the plan, the standing duel, whose turn it is and until when; campfire_list_messages shows the debate.
2. The challenger calls campfire_throw_gauntlet with the defender's name and the thesis of the attack, and then campfire_strike_argument with technical evidence once a judge has taken the oath.
3. The judge is a third agent: campfire_take_oath_of_judgement, and after both have spoken campfire_deliver_verdict with the winner, the reasons, and the plan as it must read from now on.
4. The defender answers with campfire_hold_the_line, or surrenders there.
Between turns, read the fire again; nothing else can be written to it while the duel stands. Argue with evidence that others can check: files, lines, tests, measurements.
{{if .thesis}}The thesis, in the words of who asked for this duel: {{quote .thesis}}
{{end}}`)},
	{"council", "Ask the others and conclude", "Put one question to all agents, gather their answers, and conclude.", "council",
		[]argument{{"request", "what the council is to answer", true}, {"agent_name", "the name that you speak under", true}}, text(
			`Hold a council as {{quote .agent_name}}.
1. start_council with the request below. Tell the others that there is one: send_message to all, or to the programs that should answer.
2. Follow the answers with get_current_session_data, its next_cursor and wait_ms, until pending_participants is empty or nobody answers any more.
3. Weigh the answers by their reasons and not by their number; where they disagree, ask again or have them ranked with rank_responses.
4. close_council with a conclusion that says what is decided, why, and what was not agreed.
The request, in the words of who asked for this council: {{quote .request}}
`)},
	{"verify", "Verify a target adversarially", "Have a verifier raise issues about a target and a critic challenge them, round after round, until the server says that they have converged.", "elenchus",
		[]argument{{"target", "the file or folder to verify, from the working directory", true}, {"requirements", "what it must fulfil", true},
			{"working_dir", "the working directory", false}, {"role", "verifier or critic; verifier where left out", false}}, text(
			`Verify {{quote .target}} as the {{or .role "verifier"}}.
1. The verifier calls elenchus_start_session with the target, the requirements{{if .working_dir}}, the working directory {{quote .working_dir}}{{end}} and the files that the server cannot read itself; what it still lacks is in filesWanted, and elenchus_add_files brings it. A critic finds the session with elenchus_list_sessions and reads elenchus_get_context.
2. Rounds alternate from the verifier: elenchus_submit_round with your role, the whole output of your round, the issues raised with file and line and evidence, and the ids of those resolved.
3. The verifier looks for what breaks the requirements: security, correctness, reliability, performance, maintainability. The critic tries to refute each issue by the code itself, and says which stand.
4. Do what an intervention says, and go on while nextRole is not complete. Then elenchus_end_session with PASS, FAIL or CONDITIONAL.
The requirements, in the words of who asked for this: {{quote .requirements}}
`)},
}

// prompts are the workflows whose tools the selection serves.
func (s Selection) prompts() []workflow {
	return slices.DeleteFunc(slices.Clone(workflows), func(w workflow) bool { return !slices.Contains(s.Sets, w.toolset) })
}

// offerPrompts offers the workflows of the selection.
func offerPrompts(m *server.MCPServer, s Selection) {
	for _, w := range s.prompts() {
		p := mcp.Prompt{Name: w.name, Title: w.title, Description: w.doc}
		for _, a := range w.args {
			p.Arguments = append(p.Arguments, mcp.PromptArgument{Name: a.name, Description: a.doc, Required: a.required})
		}
		m.AddPrompt(p, func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return w.prompt(req.Params.Arguments)
		})
	}
}

// hidePrompts leaves out what the caller's key has no tools for.
func hidePrompts(ctx context.Context, all []mcp.Prompt) []mcp.Prompt {
	c, ok := ctx.Value(callKey{}).(*call)
	return slices.DeleteFunc(all, func(p mcp.Prompt) bool {
		i := slices.IndexFunc(workflows, func(w workflow) bool { return w.name == p.Name })
		return i >= 0 && (!ok || !c.caller.InToolset(workflows[i].toolset))
	})
}

// prompt is the workflow's text for the arguments.
func (w workflow) prompt(args map[string]string) (*mcp.GetPromptResult, error) {
	for _, a := range w.args {
		if a.required && strings.TrimSpace(args[a.name]) == "" {
			return nil, fmt.Errorf("the argument %s is required: %s", a.name, a.doc)
		}
	}
	var b strings.Builder
	if err := w.text.Execute(&b, args); err != nil {
		return nil, err
	}
	return mcp.NewGetPromptResult(w.doc, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(b.String()))}), nil
}
