package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Values are the values of the placeholders.
type Values struct {
	ProcessID, AgentID, Name, Team, Color, LeadSessionID, AgentType, Model string
	// CWD is the working directory of the command.
	CWD string
	// Prompt is the work to do, PromptFile a file with it, and MCPURL the endpoint of the server.
	Prompt, PromptFile, MCPURL string
	PlanModeRequired           bool
}

// names are the placeholders in the order of error messages.
var names = []string{"agent_id", "name", "team", "color", "lead_session_id", "agent_type", "model", "cwd",
	"plan_mode_required", "process_id", "prompt", "prompt_file", "mcp_url"}

func (v Values) get(name string) string {
	switch name {
	case "agent_id":
		return v.AgentID
	case "name":
		return v.Name
	case "team":
		return v.Team
	case "color":
		return v.Color
	case "lead_session_id":
		return v.LeadSessionID
	case "agent_type":
		return v.AgentType
	case "model":
		return v.Model
	case "cwd":
		return v.CWD
	case "process_id":
		return v.ProcessID
	case "prompt":
		return v.Prompt
	case "prompt_file":
		return v.PromptFile
	case "mcp_url":
		return v.MCPURL
	}
	if v.PlanModeRequired {
		return "true"
	}
	return "false"
}

// present reports whether a group with the placeholder is kept.
func (v Values) present(name string) bool {
	text := v.get(name)
	return text != "" && (name != "plan_mode_required" || text == "true")
}

// piece is a literal text, or a placeholder if it has a name.
type piece struct{ text, name string }

// element is one argument, or only a condition of its group.
type element struct {
	pieces    []piece
	condition bool
}

// group is a list of elements. An optional group is omitted if a placeholder in it is empty.
type group struct {
	optional bool
	elements []element
}

// Template is a parsed command line. The zero value has no name and no arguments.
type Template struct {
	name   string
	groups []group
}

// Name returns the name of the program.
func (t *Template) Name() string { return t.name }

// Uses reports whether the command line has one of the placeholders.
func (t *Template) Uses(names ...string) bool {
	for _, g := range t.groups {
		for _, e := range g.elements {
			if slices.ContainsFunc(e.pieces, func(p piece) bool { return slices.Contains(names, p.name) }) {
				return true
			}
		}
	}
	return false
}

// UnmarshalJSON parses a template. An error tells how to correct it.
func (t *Template) UnmarshalJSON(text []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return errors.New("the command must be a list of strings and of lists of strings")
	}
	if len(list) == 0 {
		return errors.New("the command must begin with the name of a program")
	}
	var read Template
	for i, raw := range list {
		g, err := readGroup(raw)
		if err != nil {
			return fmt.Errorf("element %d of the command: %w", i, err)
		}
		if i > 0 {
			read.groups = append(read.groups, g)
			continue
		}
		first := g.elements[0].pieces
		if first[0] == (piece{}) {
			return errors.New("the command must begin with the name of a program")
		}
		if g.optional || len(first) != 1 || first[0].name != "" {
			return errors.New("the command must begin with the name of a program, without placeholders: what runs is " +
				"the configuration's choice alone")
		}
		read.name = g.elements[0].pieces[0].text
	}
	*t = read
	return nil
}

func readGroup(raw json.RawMessage) (group, error) {
	var one string
	if string(raw) != "null" && json.Unmarshal(raw, &one) == nil {
		e, err := readElement(one)
		if err == nil && e.condition {
			err = fmt.Errorf("the condition %s must be in a group", one)
		}
		return group{elements: []element{e}}, err
	}
	var many []*string
	if err := json.Unmarshal(raw, &many); err != nil || len(many) == 0 || slices.Contains(many, nil) {
		return group{}, errors.New("must be a string, or a group: a list of strings that is not empty")
	}
	g := group{optional: true}
	for _, text := range many {
		e, err := readElement(*text)
		if err != nil {
			return group{}, err
		}
		g.elements = append(g.elements, e)
	}
	return g, nil
}

// readElement splits a text into its pieces. {{ and }} stand for braces.
func readElement(text string) (element, error) {
	if strings.ContainsRune(text, 0) {
		return element{}, errors.New("an argument must not contain NUL")
	}
	var e element
	var literal strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case (c == '{' || c == '}') && strings.HasPrefix(text[i+1:], string(c)):
			literal.WriteByte(c)
			i++
		case c == '{':
			inside, _, closed := strings.Cut(text[i+1:], "}")
			if !closed {
				return e, fmt.Errorf("%q has a { without a }; write {{ for a brace", text)
			}
			name, condition := strings.CutSuffix(inside, "?")
			if !slices.Contains(names, name) {
				return e, fmt.Errorf("%q has the unknown placeholder {%s}; there are {%s}, and {{ and }} are braces",
					text, inside, strings.Join(names, "}, {"))
			}
			if condition && len(inside)+2 != len(text) {
				return e, fmt.Errorf("{%s} in %q must be an element of its own", inside, text)
			}
			if err := checkOptionName(literal.String(), len(e.pieces) == 0, text); err != nil {
				return e, err
			}
			e.add(&literal)
			e.pieces, e.condition = append(e.pieces, piece{name: name}), condition
			i += len(inside) + 1
		case c == '}':
			return e, fmt.Errorf("%q has a } without a {; write }} for a brace", text)
		default:
			literal.WriteByte(c)
		}
	}
	if e.add(&literal); len(e.pieces) == 0 {
		e.pieces = []piece{{}}
	}
	return e, nil
}

func (e *element) add(literal *strings.Builder) {
	if literal.Len() > 0 {
		e.pieces = append(e.pieces, piece{text: literal.String()})
		literal.Reset()
	}
}

// checkOptionName returns an error for a placeholder that would be part of an option's name.
func checkOptionName(literal string, first bool, text string) error {
	if first && strings.HasPrefix(literal, "-") && !strings.Contains(literal, "=") {
		return fmt.Errorf("%q would make a value part of an option's name; "+
			"write the value after a =, or as an element of its own",
			text)
	}
	return nil
}

// Args returns the arguments after the program's name. The error names a value that cannot be an argument.
func (t *Template) Args(v Values) ([]string, error) {
	var args []string
	for _, g := range t.groups {
		if g.optional && !g.kept(v) {
			continue
		}
		for _, e := range g.elements {
			if e.condition {
				continue
			}
			arg, err := e.fill(v)
			if err != nil {
				return nil, err
			}
			args = append(args, arg)
		}
	}
	return args, nil
}

func (g group) kept(v Values) bool {
	for _, e := range g.elements {
		for _, p := range e.pieces {
			if p.name != "" && !v.present(p.name) {
				return false
			}
		}
	}
	return true
}

// fill returns the argument. One that begins with a dash is one whose text in the template does: neither a value nor what
// is left without one begins an option.
func (e element) fill(v Values) (string, error) {
	var b strings.Builder
	for i, p := range e.pieces {
		text := p.text
		if p.name != "" {
			text = v.get(p.name)
			if strings.ContainsRune(text, 0) {
				return "", fmt.Errorf("the value of {%s} must not contain NUL", p.name)
			}
			if b.Len() == 0 && strings.HasPrefix(text, "-") {
				return "", fmt.Errorf("the value of {%s}, %.80q, must not begin with -, "+
					"because it could be taken for an option", p.name, text)
			}
		} else if i > 0 && b.Len() == 0 && strings.HasPrefix(text, "-") {
			return "", fmt.Errorf("the value of {%s} is empty, and the argument without it must not begin with -, because it "+
				"could be taken for an option; write it in a group, which is omitted without its values", e.pieces[0].name)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}
