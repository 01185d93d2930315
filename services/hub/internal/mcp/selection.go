package mcp

import (
	"net/http"
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// Selection is the choice of tools, resources and prompts that an endpoint serves.
type Selection struct {
	// Sets are the names of the toolsets and of selections such as "agent", in the order of the catalogue.
	Sets []string
	// Solo says that the path names a single toolset, whose tools are then listed by their aliases.
	Solo bool
	// ReadOnly leaves out the tools that change data. A tool that marks the messages it reads stays, and marks nothing.
	ReadOnly bool
}

// The headers that select if the URL does not.
const (
	headerToolsets = "X-MCP-Toolsets"
	headerReadonly = "X-MCP-Readonly"
)

// selectionOf returns the selection of a request. The path is relative to the endpoint, such as "/x/team/readonly".
// The URL takes precedence over the header. An unknown toolset is fault.NotFound, and the message lists the known ones.
func selectionOf(r *http.Request, path string, catalogue *op.Catalogue) (Selection, error) {
	var s Selection
	known := slices.Concat(catalogue.Toolsets(), catalogue.Selections())
	if fixtures != nil {
		known = append(known, fixtureSet)
	}
	path, s.ReadOnly = strings.CutSuffix(strings.TrimSuffix(path, "/"), "/readonly")
	s.ReadOnly = s.ReadOnly || r.Header.Get(headerReadonly) == "true"
	want := catalogue.Defaults
	switch set, named := strings.CutPrefix(path, "/x/"); {
	case named:
		s.Solo, want = true, []string{set}
	case path != "":
		return s, fault.New(fault.NotFound,
			"there is no such endpoint; the endpoints are /mcp and /mcp/x/{toolset}, each also with /readonly")
	case r.URL.Query().Has("toolsets"):
		want = split(r.URL.Query().Get("toolsets"))
	case r.Header.Get(headerToolsets) != "":
		want = split(r.Header.Get(headerToolsets))
	}
	if slices.Contains(want, "all") {
		want = slices.DeleteFunc(slices.Clone(known), func(name string) bool {
			return slices.Contains(catalogue.Selections(), name)
		})
	}
	for _, name := range want {
		if !slices.Contains(known, name) && !slices.Contains(catalogue.Defaults, name) {
			return s, fault.New(fault.NotFound, "there is no toolset %.60q; the toolsets are %s",
				name, strings.Join(known, ", "))
		}
	}
	for _, name := range known {
		if slices.Contains(want, name) {
			s.Sets = append(s.Sets, name)
		}
	}
	return s, nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// key returns a text that differs for different selections.
func (s Selection) key() string {
	k := strings.Join(s.Sets, ",")
	if s.Solo {
		k += " solo"
	}
	if s.ReadOnly {
		k += " readonly"
	}
	return k
}

// name returns the name of an operation's tool on the endpoint: its alias, if it has one and the selection is solo.
func (s Selection) name(o *op.Op) string {
	if s.Solo && o.Alias != "" && slices.Contains(s.Sets, o.Toolset) {
		return o.Alias
	}
	return o.Name
}

// tools returns the operations that the selection serves as tools.
func (s Selection) tools(c *op.Catalogue) []*op.Op {
	var out []*op.Op
	for _, o := range c.Ops() {
		if !o.RESTOnly && slices.ContainsFunc(s.Sets, o.ServedIn) && !(s.ReadOnly && o.Effect >= op.Write) {
			out = append(out, o)
		}
	}
	return out
}
