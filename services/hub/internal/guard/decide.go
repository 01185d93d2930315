package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/shared/files"
)

// Budget is the time that a hook may take to ask the server.
const Budget = 2 * time.Second

const perCall = 500 // paths in one call, the most that the server takes

// Verdict is the outcome of a decision about a change.
type Verdict = files.Verdict

// The verdicts. A change with a warning passes.
const (
	Pass = files.Pass
	Warn = files.Warn
	Deny = files.Deny
)

// Decision is a verdict with its reason. The reason has texts of others, so a terminal gets it through package printable.
type Decision struct {
	files.Judgement
	// Settings are those of the project, as the server said or as they are remembered.
	Settings files.Settings
}

// Server answers which files are held. A client of the server is one, and so is any fake.
type Server interface {
	CheckFiles(ctx context.Context, in files.CheckInput) (files.CheckOutput, error)
}

// Guard decides for one caller.
type Guard struct {
	// Server is asked as the caller, nil where Trouble says why it cannot be asked.
	Server  Server
	Trouble error
	// Agent reports whether the caller has the key of an agent, and Session is the session that its calls name.
	Agent   bool
	Session string
	// Budget bounds all calls of a decision together; [Budget] where it is zero.
	Budget time.Duration
}

// Decide decides about a change of files of a checkout, by their paths relative to its root. It remembers the project's
// settings.
func (g *Guard) Decide(ctx context.Context, c *checkout.Checkout, paths []string) Decision {
	m := Recall(c)
	if len(paths) == 0 {
		return Decision{files.Judgement{Verdict: Pass}, settings(m)}
	}
	asked, strange := files.Checkable(paths)
	if len(asked) == 0 {
		return unnamed(Decision{files.Judge(nil, strange), settings(m)}, strange)
	}
	checked, said, err := g.ask(ctx, c, asked)
	if err != nil {
		return g.unanswered(err, m)
	}
	warnings := strange
	if err := m.Learn(c.Common, c.Project, said.Strict, said.Auto); err != nil {
		warnings = append([]string{fmt.Sprintf("the project's settings cannot be remembered: %v", err)}, strange...)
	}
	d := Decision{files.Judge(checked, warnings), said}
	if d.Verdict == Deny {
		d.Reason = append(d.Reason, g.yours(d.Held)...)
		return d
	}
	return unnamed(d, strange)
}

// Learn asks for the project's settings and remembers them.
func (g *Guard) Learn(ctx context.Context, c *checkout.Checkout) error {
	_, said, err := g.ask(ctx, c, []string{".gitignore"}) // any file tells them
	if err == nil && g.Server == nil {
		err = errors.New("no server is known")
	}
	if err != nil {
		return err
	}
	return Recall(c).Learn(c.Common, c.Project, said.Strict, said.Auto)
}

// unnamed denies a change of files that no reservation can name where the project is strict.
func unnamed(d Decision, strange []string) Decision {
	if len(strange) > 0 && d.Settings.Strict {
		d.Verdict = Deny
		d.Reason = append(d.Reason, "This project is strict: files whose names cannot be checked do not change. Rename them")
	}
	return d
}

// ask asks the server about all paths.
func (g *Guard) ask(ctx context.Context, c *checkout.Checkout, paths []string) (
	out []files.Checked, settings files.Settings, err error,
) {
	if g.Server == nil {
		return nil, settings, g.Trouble
	}
	budget := g.Budget
	if budget == 0 {
		budget = Budget
	}
	ctx, cancel := context.WithTimeoutCause(ctx, budget, fmt.Errorf("no answer within %s", budget))
	defer cancel()
	for part := range slices.Chunk(paths, perCall) {
		answer, err := g.Server.CheckFiles(ctx, files.CheckInput{Project: c.Project, Paths: part, Worktree: c.Worktree})
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, settings, err
		}
		if len(answer.Paths) != len(part) {
			return nil, settings, fmt.Errorf("the server answered %d of %d files; check that it has the same version",
				len(answer.Paths), len(part))
		}
		out, settings = append(out, answer.Paths...), answer.Settings
	}
	return out, settings, nil
}

// unanswered returns the decision where the server gave no answer.
func (g *Guard) unanswered(err error, m Memory) Decision {
	if err == nil {
		err = errors.New("no server is known")
	}
	why, _, _ := strings.Cut(err.Error(), "\n")
	d := Decision{files.Judgement{Verdict: Warn,
		Reason: []string{"nobody knows whether others hold these files: " + why}}, settings(m)}
	if m.Strict {
		d.Verdict = Deny
		d.Reason = append(d.Reason, "This project is strict: its files change only while the server can be asked. "+
			"Start the server, or see to its URL (PARLEY_URL) and your key (PARLEY_KEY)")
	}
	return d
}

// Tell returns a sentence about a reservation: its holder, its pattern, its end and its reason.
func Tell(v files.View) string { return files.Tell(v) }

// yours returns the advice for a caller that holds the files itself: the variables to set.
func (g *Guard) yours(held []files.Checked) []string {
	session := false
	for _, f := range held {
		for _, v := range f.By {
			session = session || v.SessionID != "" && v.SessionID != g.Session
		}
	}
	switch {
	case !g.Agent:
		return []string{"If that is you, set PARLEY_KEY to your key, and PARLEY_SESSION if you reserve with a session"}
	case session:
		return []string{"If that is you, set PARLEY_SESSION to the session that you reserved with"}
	}
	return nil
}
