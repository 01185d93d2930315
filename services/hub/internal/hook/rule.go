package hook

import (
	"fmt"
	"strings"
)

// Ruling is the decision of the person's rules about a permission request.
type Ruling string

// The rulings. Ask stands for none: the person is asked.
const (
	Ask     Ruling = "ask"
	Allowed Ruling = "allow"
	Denied  Ruling = "deny"
)

// The options of the question that a permission request becomes. Any other answer refuses, with its words.
const (
	OptionAllow   = "allow"
	OptionSession = "allow for this session"
	OptionDeny    = "deny"
)

// Options are the answers that a person chooses from.
func Options() []string { return []string{OptionAllow, OptionSession, OptionDeny} }

// Rule decides by patterns of the form TOOL or TOOL(PATTERN), where * stands for any text. Denying wins. To allow, the
// pattern must match everything that is asked for, and a command that a shell would take apart is allowed by TOOL alone.
func Rule(c Call, allow, deny []string) Ruling {
	for _, p := range deny {
		if matches(c, p, false) {
			return Denied
		}
	}
	for _, p := range allow {
		if matches(c, p, true) {
			return Allowed
		}
	}
	return Ask
}

func matches(c Call, rule string, every bool) bool {
	rule = strings.TrimSpace(rule)
	tool, pattern, detailed := strings.Cut(rule, "(")
	if c.Tool == "" || !like(tool, c.Tool) {
		return false
	}
	if !detailed {
		return true
	}
	pattern, closed := strings.CutSuffix(pattern, ")")
	if !closed || len(c.Exact) == 0 {
		return false
	}
	for _, subject := range c.Exact {
		var hit bool
		switch {
		case !c.Shell:
			hit = like(pattern, subject)
		case every:
			hit = !strings.ContainsAny(subject, ";&|<>`$(){}\\\n\r") && like(pattern, strings.TrimSpace(subject))
		default:
			hit = like(pattern, strings.TrimSpace(subject))
			for _, part := range strings.FieldsFunc(subject, func(r rune) bool { return strings.ContainsRune(";&|\n`(){}", r) }) {
				hit = hit || like(pattern, strings.TrimSpace(part))
			}
		}
		if hit != every {
			return hit
		}
	}
	return every
}

// like reports whether a text matches a pattern in which * stands for any text.
func like(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}

// Same returns the key of an allowance for the session: it holds for the same tool and exactly the same subject. The
// key is empty where the subject is not known whole.
func Same(c Call) string {
	if len(c.Exact) == 0 {
		return ""
	}
	return c.Tool + "\x00" + strings.Join(c.Exact, "\x00")
}

// Question returns the text of a permission request for the person, and its context.
func Question(c Call, who string) (question, context string) {
	question = fmt.Sprintf("%s asks for permission: %s", clean(who), c.Tool)
	if c.Subject != "" {
		question += ": " + c.Subject
	}
	context = fmt.Sprintf("%s in %s. %q allows this once, %q the same for the rest of the session; any other answer refuses, with "+
		"your words as the reason.", c.Client, short(clean(c.Dir), 300), OptionAllow, OptionSession)
	return short(question, 1500), context
}

// Decide returns the reply to a permission request by a person's answer, and whether the same is allowed for the session.
func Decide(c Call, answer, by string) (r Reply, session bool) {
	switch answer {
	case OptionAllow:
		return c.Permit(true, ""), false
	case OptionSession:
		return c.Permit(true, ""), true
	case OptionDeny:
		return c.Permit(false, "Refused by "+short(clean(by), 100)+" through Parley."), false
	}
	return c.Permit(false, fmt.Sprintf("Refused by %s through Parley, who says: %s", short(clean(by), 100), short(clean(answer), 1000))),
		false
}
