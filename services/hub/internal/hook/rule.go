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

// Same returns the key of an allowance for the session: it holds for the same tool, exactly the same subject and the same
// directory, in which a command may do what it does nowhere else. The key is empty where the subject is not known whole or
// the directory is unknown, and for a command outside of the sandbox.
func Same(c Call) string {
	if len(c.Exact) == 0 || c.Dir == "" || c.Unsandboxed {
		return ""
	}
	return c.Tool + "\x00" + c.Dir + "\x00" + strings.Join(c.Exact, "\x00")
}

// Question returns the text of a permission request for the person, and its context.
func Question(c Call, who string) (question, context string) {
	question = fmt.Sprintf("%s asks for permission: %s", short(clean(who), 100), c.Tool)
	if c.Unsandboxed {
		question += ", outside of the sandbox"
	}
	if c.Subject != "" {
		question += ": " + c.Subject
	}
	same := "the same"
	if !c.Shell && len(c.Exact) > 0 {
		same = "all calls of " + c.Tool + " for this file"
	}
	context = fmt.Sprintf("%s in %s. %q allows this once, %q %s in this directory for the rest of the session; any other "+
		"answer refuses, with your words as the reason.", c.Client, shown(visible(c.Dir), 300, len(c.Dir)), OptionAllow, OptionSession, same)
	if c.Content != "" {
		context += "\n\n" + c.Content
	}
	return question, context
}

// Decide returns the reply to a permission request by a person's answer, and whether the same is allowed for the session.
func Decide(c Call, answer, by string) (r Reply, session bool) {
	switch strings.ToLower(strings.Trim(answer, " \t\r\n.!\"")) { // phones begin with a capital and end with a full stop
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
