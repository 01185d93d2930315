package cli_test

import (
	"strings"
	"testing"
)

func TestAPersonPausesAndResumesFromTheTerminal(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	serve(t, nil, local(data)...)
	for _, step := range []struct {
		args string
		want string // of the output, or of the error where the command fails
		code int
	}{
		{"pauses", "Nothing is paused.\n", 0},
		{"pause program beta --words lunch", `Paused: the program "beta" for 0s, by human:`, 0},
		{"pause everything", "Paused: everything for", 0},
		{"pauses", `("lunch")`, 0},
		{"pause beta", "scope: must be one of everything, program, agent, team, project", 1},
		{"pause program", "name: is required with the scope program", 1},
		{"resume agent beta/1", `the agent "beta/1" is not paused; paused are everything, the program "beta"`, 1},
		{"resume everything", `Still paused: the program "beta"`, 0},
		{"resume program beta", `Resumed: the program "beta"`, 0},
		{"pauses", "Nothing is paused.\n", 0},
	} {
		out, errOut, code := inProcess(t, nil, append(strings.Fields(step.args), "--data", data)...)
		if text := out + errOut; code != step.code || !strings.Contains(text, step.want) {
			t.Errorf("parley %s: exit %d, %q; want %d and %q", step.args, code, text, step.code, step.want)
		}
	}
}
