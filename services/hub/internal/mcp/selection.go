package mcp

import (
	"net/http"
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// Selection is which tools an endpoint serves.
type Selection struct {
	// Sets are the toolsets, in the catalogue's order.
	Sets []string
	// Solo says that the URL named one toolset alone: its tools carry their aliases.
	Solo bool
	// ReadOnly leaves out what changes data.
	ReadOnly bool
}

// The headers that choose where the URL does not.
const (
	headerToolsets = "X-MCP-Toolsets"
	headerReadonly = "X-MCP-Readonly"
)

// selectionOf reads a request's: path is what follows the endpoint, "/x/team/readonly".
// The URL beats the header. An unknown toolset is NotFound, and the message lists
// those there are.
func selectionOf(r *http.Request, path string, catalogue *op.Catalogue) (Selection, error) {
	var s Selection
	known := catalogue.Toolsets()
	if fixtures != nil {
		known = append(slices.Clone(known), fixtureSet)
	}
	path, s.ReadOnly = strings.CutSuffix(strings.TrimSuffix(path, "/"), "/readonly")
	s.ReadOnly = s.ReadOnly || r.Header.Get(headerReadonly) == "true"
	want := catalogue.Defaults
	switch set, named := strings.CutPrefix(path, "/x/"); {
	case named:
		s.Solo, want = true, []string{set}
	case path != "":
		return s, fault.New(fault.NotFound, "there is no such endpoint; they are /mcp, /mcp/x/{toolset} and each with /readonly")
	case r.URL.Query().Has("toolsets"):
		want = split(r.URL.Query().Get("toolsets"))
	case r.Header.Get(headerToolsets) != "":
		want = split(r.Header.Get(headerToolsets))
	}
	if slices.Contains(want, "all") {
		want = known
	}
	for _, name := range want {
		if !slices.Contains(known, name) && !slices.Contains(catalogue.Defaults, name) {
			return s, fault.New(fault.NotFound, "there is no toolset %.60q; the toolsets are %s", name, strings.Join(known, ", "))
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

// key tells selections apart.
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

// name is a tool's name on the selection's endpoint.
func (s Selection) name(o *op.Op) string {
	if s.Solo && o.Alias != "" {
		return o.Alias
	}
	return o.Name
}

// tools are the operations that the selection serves.
func (s Selection) tools(c *op.Catalogue) []*op.Op {
	var out []*op.Op
	for _, o := range c.Ops() {
		if !o.RESTOnly && slices.Contains(s.Sets, o.Toolset) && !(s.ReadOnly && o.Effect >= op.Write) {
			out = append(out, o)
		}
	}
	return out
}
