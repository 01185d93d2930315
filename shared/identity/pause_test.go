package identity

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/fault"
)

func TestAPauseHaltsThoseThatItNames(t *testing.T) {
	t.Parallel()
	claude := Caller{Program: "claude", Session: "2", Team: "crew", Kind: Agent}
	loose := Caller{KeyID: "0123456789abcdef", Kind: Agent}
	for name, c := range map[string]struct {
		pause         Pause
		by            Caller
		team, project string
		want          bool
	}{
		"everything":                    {Pause{Scope: Everything}, loose, "", "", true},
		"its program":                   {Pause{Scope: PausedProgram, Name: "Claude"}, claude, "", "", true},
		"another program":               {Pause{Scope: PausedProgram, Name: "codex"}, claude, "", "", false},
		"an unbound key":                {Pause{Scope: PausedProgram, Name: "claude"}, loose, "", "", false},
		"its session":                   {Pause{Scope: PausedAgent, Name: "claude/2"}, claude, "", "", true},
		"another session":               {Pause{Scope: PausedAgent, Name: "claude/3"}, claude, "", "", false},
		"a key":                         {Pause{Scope: PausedAgent, Name: "key:0123456789ab"}, loose, "", "", true},
		"another key":                   {Pause{Scope: PausedAgent, Name: "key:ffffffffffff"}, loose, "", "", false},
		"its team":                      {Pause{Scope: PausedTeam, Name: "crew"}, claude, "", "", true},
		"the team of the call":          {Pause{Scope: PausedTeam, Name: "crew"}, loose, "Crew", "", true},
		"another team":                  {Pause{Scope: PausedTeam, Name: "band"}, claude, "crew", "", false},
		"the project of the call":       {Pause{Scope: PausedProject, Name: "parley"}, claude, "", "Parley", true},
		"another project":               {Pause{Scope: PausedProject, Name: "parley"}, claude, "", "other", false},
		"a project, in a call of none":  {Pause{Scope: PausedProject, Name: "parley"}, claude, "", "", false},
		"a person's call of everything": {Pause{Scope: Everything}, Caller{Kind: Human}, "", "", false},
	} {
		c.by.Pauses = []Pause{{Scope: PausedProgram, Name: "nobody"}, c.pause}
		err := c.by.Paused(c.team, c.project)
		if (err != nil) != c.want || err != nil && !fault.Is(err, fault.Paused) {
			t.Errorf("%s: %v, want halted %v", name, err, c.want)
		}
	}
}

func TestThePausedAreToldByWhomSinceWhenAndWhy(t *testing.T) {
	t.Parallel()
	c := Caller{Program: "claude", Kind: Agent, Pauses: []Pause{{Scope: PausedProgram, Name: "claude", Words: "the plan changes",
		By: "human:0123", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}}
	err := c.Paused("", "")
	for _, words := range []string{`human:0123 paused the program "claude"`, "2026-03-01T12:00:00Z: the plan changes.", "resumes"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("told %v, want %q in it", err, words)
		}
	}
}
