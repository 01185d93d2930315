package op

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const referenceIntro = `# Tools

This page is generated from the definitions of the operations: change those, then run ` + "`make generate`" + `.

Every tool below is served over MCP at ` + "`/mcp`" + ` and has a REST twin that takes the same inputs with the same key. What
a route names in braces stands in the path; the other inputs stand in the query of a GET or DELETE, a list as a
repeated parameter, and in a JSON body otherwise. ` + "`/openapi.json`" + ` on a server describes the same routes for machines.

A toolset is also served by itself, at ` + "`/mcp/x/`" + ` and its name. A few tools go by a shorter name there, given beside
the tool. What is marked REST only is no MCP tool.

What a call does: it *reads*; it *reads and marks* what it read, unless the key or the endpoint is read-only; it
*writes*; or it *destroys*, which cannot be undone. A read-only key or endpoint cannot write or destroy.

Who may call: *anyone* with a key whose scopes reach the toolset, *a human* with a key of the kind human, or *a human or
the scope admin*.
`

// lineWidth is the width of the page's paragraphs; rows of tables cannot be broken.
const lineWidth = 120

// Wrap breaks a text at its spaces into lines of at most width bytes. A longer word has a line of its own.
func Wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// Reference returns the tool reference: a page about every operation, in Markdown.
func (c *Catalogue) Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceIntro)
	for _, name := range c.selections {
		c.selection(&b, name)
	}
	for _, set := range c.sets {
		fmt.Fprintf(&b, "\n## %s\n\n| tool | REST | who may call | effect |\n|---|---|---|---|\n", set)
		in := slices.DeleteFunc(slices.Clone(c.ops), func(o *Op) bool { return o.Toolset != set })
		for _, o := range in {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", o.names(), strings.Join(o.routeTexts(), ", "), o.who(), o.Effect)
		}
		for _, o := range in {
			o.section(&b)
		}
	}
	return b.Bytes()
}

// selection writes the paragraph about a selection.
func (c *Catalogue) selection(b *bytes.Buffer, name string) {
	var tools []string
	for _, o := range c.ops {
		if slices.Contains(o.Also, name) {
			tools = append(tools, fmt.Sprintf("[`%s`](#%s)", o.Name, o.Name))
		}
	}
	fmt.Fprintf(b, "\n`%s` is no toolset but a selection from several, served in the same way, as `/mcp/x/%s` or "+
		"`?toolsets=%s`: %s. A key needs the scopes of those that it calls.\n", name, name, name, strings.Join(tools, ", "))
}

// String returns the effect in words.
func (e Effect) String() string {
	return [...]string{Read: "reads", Consume: "reads and marks", Write: "writes", Destroy: "destroys"}[e]
}

// String returns the audience in words.
func (a Audience) String() string {
	return [...]string{Anyone: "anyone", Humans: "a human", Admins: "a human or the scope admin"}[a]
}

// who names the callers of the operation.
func (o *Op) who() string {
	if o.Open {
		return "anyone, without a key"
	}
	return o.For.String()
}

func (o *Op) names() string {
	out := fmt.Sprintf("[`%s`](#%s)", o.Name, o.Name)
	if o.Alias != "" {
		out += fmt.Sprintf(", by itself `%s`", o.Alias)
	}
	if o.RESTOnly {
		out += " (REST only)"
	}
	return out
}

func (o *Op) routeTexts() []string {
	var out []string
	for _, r := range o.Routes() {
		t := "`" + r.Route + "`"
		var set []string
		for _, name := range slices.Sorted(maps.Keys(r.Set)) {
			set = append(set, fmt.Sprintf("`%s: %v`", name, r.Set[name]))
		}
		if len(set) > 0 {
			t += " (with " + strings.Join(set, ", ") + ")"
		}
		out = append(out, t)
	}
	return out
}

func (o *Op) section(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", o.Name, Wrap(plainText(o.Doc), lineWidth))
	if o.Creates {
		fmt.Fprintf(b, "Over REST it answers %d.\n\n", http.StatusCreated)
	}
	if len(o.schema.shape.PropertyOrder) == 0 {
		b.WriteString("It takes no input.\n")
		return
	}
	b.WriteString("| input | type | required | limits | description |\n|---|---|---|---|---|\n")
	rows(b, o.schema.shape, "")
	if sample := o.Sample(); len(sample) > 0 {
		text, err := json.MarshalIndent(sample, "", "  ")
		if err != nil {
			panic("op " + o.Name + ": its example: " + err.Error())
		}
		fmt.Fprintf(b, "\nFor example:\n\n```json\n%s\n```\n", text)
	}
}

// rows writes a row for each field of an object, each followed by those of the objects in it.
func rows(b *bytes.Buffer, s *jsonschema.Schema, prefix string) {
	for _, name := range s.PropertyOrder {
		p := s.Properties[name]
		required := ""
		if slices.Contains(s.Required, name) {
			required = "yes"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", prefix+name, typeText(p), required,
			strings.Join(limits(p), "; "), plainText(p.Description))
		switch {
		case p.Type == "object":
			rows(b, p, prefix+name+".")
		case p.Items != nil && p.Items.Type == "object":
			rows(b, p.Items, prefix+name+"[].")
		}
	}
}

func typeText(s *jsonschema.Schema) string {
	if s.Items != nil {
		return "list of " + typeText(s.Items)
	}
	return s.Type
}

// limits returns the bounds of a value in words.
func limits(s *jsonschema.Schema) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		say("%s to %s", decimal(*s.Minimum), decimal(*s.Maximum))
	case s.Minimum != nil:
		say("at least %s", decimal(*s.Minimum))
	case s.ExclusiveMinimum != nil:
		say("more than %s", decimal(*s.ExclusiveMinimum))
	}
	if s.Maximum != nil && s.Minimum == nil {
		say("at most %s", decimal(*s.Maximum))
	}
	if s.MinLength != nil || s.MinItems != nil {
		say("not empty")
	}
	if s.MaxLength != nil {
		say("at most %d characters", *s.MaxLength)
	}
	if s.MaxItems != nil {
		say("at most %d", *s.MaxItems)
	}
	if len(s.Enum) > 0 {
		say("one of %s", codeList(s.Enum))
	}
	if s.Pattern != "" {
		say("`%s`", cell(s.Pattern))
	}
	if s.Items != nil && s.Items.Type != "object" {
		for _, l := range limits(s.Items) {
			say("each %s", l)
		}
	}
	if s.Default != nil {
		say("default `%s`", cell(strings.Trim(string(s.Default), `"`)))
	}
	return out
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func codeList(values []any) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprintf("`%s`", cell(fmt.Sprint(v)))
	}
	return strings.Join(out, ", ")
}

// cell escapes a text for a cell of a table, in code too.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "|", `\|`)
}

// plainText escapes a description so that Markdown shows it literally, without tags or emphasis.
func plainText(s string) string {
	return strings.NewReplacer("<", `\<`, "*", `\*`).Replace(cell(s))
}
