package files

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/files/glob"
	"parley.internal/shared/identity"
)

// Verdict is the decision about a change of files.
type Verdict string

// The verdicts. A change with a warning passes.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn"
	Deny Verdict = "deny"
)

// maxLines is the number of files that a reason names.
const maxLines = 10

// Judgement is a verdict with its reason.
type Judgement struct {
	Verdict Verdict
	// Reason has lines, each without an end of line: the most important first, the advice last. It is empty for Pass.
	Reason []string
	// Held are the files that others hold.
	Held []Checked
}

// Warn adds a warning. Beyond a number of them the last line says that there are more.
func (j *Judgement) Warn(text string) {
	j.Verdict = Warn
	switch len(j.Reason) {
	case maxLines + 1:
	case maxLines:
		j.Reason = append(j.Reason, "and more like these")
	default:
		j.Reason = append(j.Reason, text)
	}
}

// Judge decides about a change of files that were checked: it denies the change if others hold one of them, and warns
// of files that others hold in other worktrees. strange are lines about files that could not be checked.
func Judge(checked []Checked, strange []string) Judgement {
	j := Judgement{Verdict: Pass}
	for _, s := range strange {
		j.Warn(s)
	}
	for _, f := range checked {
		if f.State == Held {
			j.Held = append(j.Held, f)
		}
	}
	if len(j.Held) > 0 {
		j.Verdict, j.Reason = Deny, refusalOf(j.Held)
		return j
	}
	for _, f := range checked {
		for _, v := range f.Elsewhere {
			j.Warn(fmt.Sprintf("%s: in %s %s; the two will meet when they are merged", f.Path, v.where(), Tell(v)))
		}
	}
	return j
}

// Checkable returns the paths that can be checked, and a line for each of the others. No reservation names those.
func Checkable(paths []string) (good, strange []string) {
	for _, p := range paths {
		if _, err := glob.Path(p, false); err != nil {
			strange = append(strange, fmt.Sprintf("%.80q is not checked: a path %v", p, err))
			continue
		}
		good = append(good, p)
	}
	return good, strange
}

// where names the worktree, and the branch where it is known.
func (v View) where() string { return place(v.Worktree, v.Branch) }

// place names a worktree and the branch that is checked out there, where that is known.
func place(worktree, branch string) string {
	if branch == "" {
		return fmt.Sprintf("the worktree %q", worktree)
	}
	return fmt.Sprintf("the worktree %q (branch %q)", worktree, branch)
}

// Tell returns a sentence about a reservation: its holder, its pattern, its end and its reason.
func Tell(v View) string {
	text := fmt.Sprintf("%s holds %s", v.Who(), v.Pattern)
	if v.Mode == Shared {
		text += " (shared)"
	}
	text += " until " + v.Until.UTC().Format(time.RFC3339)
	if v.Reason != "" {
		text += fmt.Sprintf(": %q", v.Reason)
	}
	return text
}

// Who returns the holder: the address of its session, quoted, or the short form of a key.
func (v View) Who() string {
	switch {
	case !identity.ValidName(v.Holder):
		return v.Holder
	case v.SessionID != "":
		return fmt.Sprintf("%q", identity.Address(v.Holder, v.SessionID))
	}
	return fmt.Sprintf("%q", v.Holder)
}

// refusalOf returns a line for each of the first files, and the advice.
func refusalOf(held []Checked) []string {
	var out, reach []string
	for i, f := range held {
		if i == maxLines {
			out = append(out, fmt.Sprintf("and %d more files", len(held)-i))
		}
		for _, v := range f.By {
			if i < maxLines {
				out = append(out, fmt.Sprintf("%s: %s", f.Path, Tell(v)))
			}
			if name := v.Who(); identity.ValidName(v.Holder) && !slices.Contains(reach, name) && len(reach) < 3 {
				reach = append(reach, name)
			}
		}
	}
	advice := "Wait until they are released"
	if len(reach) > 0 {
		advice = "Reach the holder with send_message to " + strings.Join(reach, ", ") + ", or wait until the files are released"
	}
	return append(out, advice+": parley files reserve --wait 10m "+shellWord(glob.Quote(held[0].Path)))
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
