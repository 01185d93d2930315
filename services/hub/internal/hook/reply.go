package hook

import (
	"encoding/json"
)

// Reply is the output of a hook's process: it writes Stdout and Stderr and ends with Code.
type Reply struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Code   int    `json:"code,omitempty"`
}

// Quiet reports a reply that says nothing.
func (r Reply) Quiet() bool { return r == Reply{} }

type specific struct {
	Event    string    `json:"hookEventName"`
	Context  string    `json:"additionalContext,omitempty"`
	Decision string    `json:"permissionDecision,omitempty"`
	Reason   string    `json:"permissionDecisionReason,omitempty"`
	Answer   *behavior `json:"decision,omitempty"`
}

type behavior struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}

type answer struct {
	Decision string    `json:"decision,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Specific *specific `json:"hookSpecificOutput,omitempty"`
}

func (a answer) reply() Reply {
	text, err := json.Marshal(a)
	if err != nil {
		return Reply{} // texts alone cannot fail
	}
	return Reply{Stdout: string(text) + "\n"}
}

// takesContext are the events of each client at which it hands a text to its model.
var takesContext = map[string]map[string]bool{
	"claude": {"SessionStart": true, "UserPromptSubmit": true, "PreToolUse": true, "PostToolUse": true,
		"PostToolUseFailure": true, "PostToolBatch": true},
	"codex":  {"SessionStart": true, "UserPromptSubmit": true, "PreToolUse": true, "PostToolUse": true},
	"gemini": {"SessionStart": true, "BeforeAgent": true, "AfterTool": true},
}

// TakesText reports whether the client hands a text to its model at this event.
func (c Call) TakesText() bool { return takesContext[c.Client][c.Event] }

// Say returns the reply that gives a text to the model. It is quiet where there is none, or where the event takes none.
func (c Call) Say(text string) Reply {
	if text == "" || !c.TakesText() {
		return Reply{}
	}
	return answer{Specific: &specific{Event: c.Event, Context: text}}.reply()
}

// Deny returns the reply that refuses a tool call with a reason for the model.
func (c Call) Deny(reason string) Reply {
	switch {
	case c.Kind != Before && c.Kind != Edit:
		return Reply{}
	case c.Client == "gemini":
		return answer{Decision: "deny", Reason: reason}.reply()
	}
	return answer{Specific: &specific{Event: c.Event, Decision: "deny", Reason: reason}}.reply()
}

// Continue returns the reply that continues a turn with a reason.
func (c Call) Continue(reason string) Reply {
	switch {
	case c.Kind != Turn || reason == "":
		return Reply{}
	case c.Client == "gemini":
		return answer{Decision: "deny", Reason: reason}.reply()
	}
	return answer{Decision: "block", Reason: reason}.reply()
}

// Permit returns the reply that allows or refuses a permission request. A client whose hooks cannot answer such a
// request gets a quiet reply, and asks by itself.
func (c Call) Permit(allow bool, message string) Reply {
	if c.Kind != Permission || c.Client == "gemini" {
		return Reply{}
	}
	b := &behavior{Behavior: "deny", Message: message}
	if allow {
		b = &behavior{Behavior: "allow"}
	}
	return answer{Specific: &specific{Event: c.Event, Answer: b}}.reply()
}
