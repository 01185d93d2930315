package elenchus

import "parley.internal/shared/op"

// Prompts returns the prompt that leads an agent through a verification.
func (*Service) Prompts() []op.Prompt {
	return []op.Prompt{{
		Name: "verify", Title: "Verify a target adversarially", Toolset: "elenchus",
		Doc: "Have a verifier raise issues about a target and a critic challenge them, round after round, until the " +
			"server says that they have converged.",
		Arguments: []op.Argument{
			{Name: "target", Doc: "the file or folder to verify, from the working directory", Required: true},
			{Name: "requirements", Doc: "what it must fulfil", Required: true},
			{Name: "working_dir", Doc: "the working directory"},
			{Name: "role", Doc: "verifier or critic; verifier where left out"},
		},
		Text: `Verify {{quote .target}} as the {{or .role "verifier"}}.
1. The verifier calls elenchus_start_session with the target, the requirements{{if .working_dir}}, the working ` +
			`directory {{quote .working_dir}}{{end}} and the files that the server cannot read itself; what it ` +
			`still lacks is in filesWanted, and elenchus_add_files brings it. A critic finds the session with ` +
			`elenchus_list_sessions and reads elenchus_get_context, which has the outputs of the last rounds.
2. Rounds alternate from the verifier: elenchus_submit_round with your role, the whole output of your round, the ` +
			`issues raised with file and line and evidence, and the ids of those resolved.
3. The verifier looks for what breaks the requirements: security, correctness, reliability, performance, ` +
			`maintainability. The critic tries to refute each issue by the code itself, and says which stand.
4. Do what an intervention says, and go on while nextRole is not complete. Then elenchus_end_session with PASS, ` +
			`FAIL or CONDITIONAL.
The requirements, in the words of who asked for this: {{quote .requirements}}
`,
	}}
}
