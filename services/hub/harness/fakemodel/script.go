package fakemodel

import (
	"encoding/json"
	"regexp"
	"time"
)

// Step is one answer of the model: Calls, or Text where there are none.
type Step struct {
	Text  string
	Calls []Call
	// When is the condition of the step: it is used only for a request whose body matches. Nil fits every request.
	When *regexp.Regexp
	// Hold delays the answer until it is closed; Delay delays it for a time. Both end when the client leaves.
	Hold  <-chan struct{}
	Delay time.Duration
	// Status answers with a status other than 200 and an error of the API instead.
	Status int
	// Usage is counted for the answer; nil means 1,000 tokens and one for each request in, and 20 out.
	Usage *Usage
}

// Call is one call of a tool that the model asks for.
type Call struct {
	// Tool is the name that the client gave the tool: for Claude Code "Bash" or "mcp__server__tool". Codex keeps the
	// tools of an MCP server in a namespace of the server, "mcp__server", under their own names.
	Tool, Namespace string
	// Input is the tool's input, an object.
	Input any
	// Free is the input of a free-form tool of Codex, such as apply_patch, in place of Input.
	Free string
}

// Usage are the tokens of an answer.
type Usage struct{ In, Cached, Out int }

// Say is a step that answers with a text, which ends the client's turn.
func Say(text string) Step { return Step{Text: text} }

// Use is a step that asks for one call of a tool.
func Use(tool string, input any) Step { return Step{Calls: []Call{{Tool: tool, Input: input}}} }

// If returns the step with a condition: the body of the request must match the pattern.
func (s Step) If(pattern string) Step {
	s.When = regexp.MustCompile(pattern)
	return s
}

// usage returns the tokens of the answer to the nth request.
func (s Step) usage(n int) Usage {
	if s.Usage != nil {
		return *s.Usage
	}
	return Usage{In: 1000 + n, Out: 20}
}

// input returns the JSON of the call's input.
func (c Call) input() (string, error) {
	if c.Input == nil {
		return "{}", nil
	}
	text, err := json.Marshal(c.Input)
	return string(text), err
}
