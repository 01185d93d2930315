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
	"parley.internal/shared/files/glob"
	"parley.internal/shared/identity"
)

// Budget is the time that a hook may take to ask the server.
const Budget = 2 * time.Second

const (
	perCall  = 500 // paths in one call, the most that the server takes
	maxLines = 10  // files that a reason names
)

// Verdict is the outcome of a decision about a change.
type Verdict string

// The verdicts. A change with a warning passes.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn"
	Deny Verdict = "deny"
)

// Decision is a verdict with its reason. The reason has texts of others, so a terminal gets it through package printable.
type Decision struct {
	Verdict Verdict
	// Reason has lines without their ends: the most important first, the advice last. It is empty for Pass.
	Reason []string
	// Held are the files that others hold.
	Held []files.Checked
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
		return Decision{Verdict: Pass, Settings: m.settings()}
	}
	asked, strange := askable(paths)
	checked, settings, err := g.ask(ctx, c, asked)
	if err != nil {
		return g.unanswered(err, m)
	}
	d := Decision{Verdict: Pass, Settings: settings}
	if err := m.learn(c, settings); err != nil {
		d.warn(fmt.Sprintf("the project's settings cannot be remembered: %v", err))
	}
	for _, s := range strange {
		d.warn(s)
	}
	for _, f := range checked {
		if f.State == files.Held {
			d.Held = append(d.Held, f)
		}
	}
	if len(d.Held) > 0 {
		d.Verdict, d.Reason = Deny, g.refusal(d.Held)
		return d
	}
	for _, f := range checked {
		for _, v := range f.Elsewhere {
			d.warn(fmt.Sprintf("%s: in the worktree %q %s; the two will meet when they are merged", f.Path, v.Worktree, Tell(v)))
		}
	}
	return d
}

// warn adds a warning. Beyond a number of them the last line says that there are more.
func (d *Decision) warn(text string) {
	d.Verdict = Warn
	switch len(d.Reason) {
	case maxLines + 1:
	case maxLines:
		d.Reason = append(d.Reason, "and more like these")
	default:
		d.Reason = append(d.Reason, text)
	}
}

// askable returns the paths that the server can be asked about, and a line for each of the others. No reservation names
// those.
func askable(paths []string) (good, strange []string) {
	for _, p := range paths {
		if _, err := glob.Path(p, false); err != nil {
			strange = append(strange, fmt.Sprintf("%.80q is not checked: a path %v", p, err))
			continue
		}
		good = append(good, p)
	}
	return good, strange
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
	d := Decision{Verdict: Warn, Settings: m.settings(),
		Reason: []string{"nobody knows whether others hold these files: " + why}}
	if m.Strict {
		d.Verdict = Deny
		d.Reason = append(d.Reason, "This project is strict: its files change only while the server can be asked. "+
			"Start the server, or see to its URL (PARLEY_URL) and your key (PARLEY_KEY)")
	}
	return d
}

// Tell describes a reservation: its holder, its pattern, its end and its reason.
func Tell(v files.View) string {
	text := fmt.Sprintf("%s holds %s", who(v), v.Pattern)
	if v.Mode == files.Shared {
		text += " (shared)"
	}
	text += " until " + v.Until.UTC().Format(time.RFC3339)
	if v.Reason != "" {
		text += fmt.Sprintf(": %q", v.Reason)
	}
	return text
}

// who returns the holder: the address of its session, quoted, or the short form of a key.
func who(v files.View) string {
	switch {
	case !identity.ValidName(v.Holder):
		return v.Holder
	case v.SessionID != "":
		return fmt.Sprintf("%q", identity.Address(v.Holder, v.SessionID))
	}
	return fmt.Sprintf("%q", v.Holder)
}

// refusal returns a line for each of the first files, and the advice.
func (g *Guard) refusal(held []files.Checked) []string {
	var out, reach []string
	session := false
	for i, f := range held {
		if i == maxLines {
			out = append(out, fmt.Sprintf("and %d more files", len(held)-i))
		}
		for _, v := range f.By {
			if i < maxLines {
				out = append(out, fmt.Sprintf("%s: %s", f.Path, Tell(v)))
			}
			session = session || v.SessionID != "" && v.SessionID != g.Session
			if name := who(v); identity.ValidName(v.Holder) && !slices.Contains(reach, name) && len(reach) < 3 {
				reach = append(reach, name)
			}
		}
	}
	advice := "Wait until they are released"
	if len(reach) > 0 {
		advice = "Reach the holder with send_message to " + strings.Join(reach, ", ") + ", or wait until the files are released"
	}
	out = append(out, advice+": parley files reserve --wait 10m "+shellWord(glob.Quote(held[0].Path)))
	switch {
	case !g.Agent:
		out = append(out, "If that is you, set PARLEY_KEY to your key, and PARLEY_SESSION if you reserve with a session")
	case session:
		out = append(out, "If that is you, set PARLEY_SESSION to the session that you reserved with")
	}
	return out
}

// shellWord returns a word that a shell reads as the text.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./+,@:", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
