//go:build unix

package runner_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/runner"
)

func TestAMemberGetsAKeyOfItsOwnAndNeverTheRunners(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	p := newPlan(t, s, st)
	p.Env = []string{"PARLEY_KEY=" + theKey, "LC_OTHER=Bearer " + theKey, "LC_KEPT=1", "LC_GONE=1", "LANG=1",
		"TERM=\xff"}
	p.Command = strings.Replace(p.Command, `"env": {`, `"env": {"LC_GONE": null, "LANG": "2", "OWN": "{name}", `, 1)
	run := p.run(t)
	s.spawn("p1")
	m := st.next()
	for _, want := range []string{"PARLEY_KEY=" + memberKey("p1"), "LC_KEPT=1", "LANG=2", "OWN={name}", "TERM=\ufffd", "CLAUDECODE=1",
		"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1", "PWD=" + p.Root} {
		if !slices.Contains(m.Env, want) {
			t.Errorf("%s is not in %q", want, m.Env)
		}
	}
	for _, line := range m.Env {
		if strings.Contains(line, theKey) || strings.HasPrefix(line, "LC_GONE=") || line == "LANG=1" {
			t.Errorf("%s is in the environment", line)
		}
	}
	run.end()
	if text := run.text() + p.output(t, "w-p1"); strings.Contains(text, memberKey("p1")) {
		t.Errorf("the member's key is logged: %s", text)
	}
	plain := p.Command
	for id, c := range map[string]struct {
		command string
		want    []string // the variables with a key
	}{
		"named":   {strings.Replace(plain, `"env"`, `"pass_key": "ORCH_KEY", "env"`, 1), []string{"ORCH_KEY="}},
		"set":     {strings.Replace(plain, `"env": {`, `"env": {"PARLEY_KEY": "x", `, 1), []string{"PARLEY_KEY="}},
		"removed": {strings.Replace(plain, `"env": {`, `"env": {"PARLEY_KEY": null, `, 1), nil},
	} {
		p.Command = c.command
		run := p.run(t)
		s.spawn(id)
		var got []string
		for _, line := range st.next().Env {
			if name, key, _ := strings.Cut(line, "="); key == memberKey(id) || strings.Contains(name, "KEY") {
				got = append(got, strings.TrimSuffix(line, memberKey(id)))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the variables with a key are %q, want %q", id, got, c.want)
		}
		run.end()
	}
}

func TestAnOlderServerMakesNoKeyForAMember(t *testing.T) {
	t.Parallel()
	s, st := newServer(t), newStage(t)
	s.keyless = true
	newPlan(t, s, st).run(t)
	s.spawn("p1")
	if m := st.next(); slices.ContainsFunc(m.Env, func(line string) bool { return strings.HasPrefix(line, "PARLEY_KEY=") }) {
		t.Errorf("got %q", m.Env)
	}
}

func TestTheErrorForAnInvalidConfigurationNamesTheMistake(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		`{"command": ["c", "{nme}"]}`: "unknown placeholder {nme}",
		`{"command": "claude"}`:       "must be a list",
		`{"command": []}`:             "must begin with the name of a program",
		`{"comand": ["c"]}`:           `unknown field "comand"`,
		`{"env": {"A=B": "c"}}`:       `"A=B" is not a valid name of a variable`,
		`{"env": {"": "c"}}`:          `"" is not a valid name of a variable`,
		`{"env": {"A": "\u0000"}}`:    "NUL",
		`{"env": {"A": 7}}`:           "cannot unmarshal number",
		`{"pass_env": ["A", "*"]}`:    `"" is not a valid name of a variable`,
		`{"pass_env": ["A=*"]}`:       `"A=" is not a valid name of a variable`,
		`{"pass_key": "="}`:           `"=" is not a valid name of a variable`,
		`{} {}`:                       "exactly one JSON object",
		`nonsense`:                    "invalid character",
		`{"client": "gemini"}`:        `there is no client "gemini"; the clients are claude, codex, command`,
	} {
		file := filepath.Join(t.TempDir(), "runner.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := runner.ReadCommand(file); err == nil || !strings.Contains(err.Error(), words) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v, want %q", text, err, words)
		}
	}
	if _, err := runner.ReadCommand("no-such-file"); err == nil ||
		!strings.Contains(err.Error(), "cannot read the configuration") {
		t.Error(err)
	}
}
