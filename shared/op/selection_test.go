package op

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/identity"
)

type pickedInput struct {
	Name   string `json:"name" allow:"nonempty,max=5000"`
	Seldom int    `json:"seldom,omitempty" allow:"min=1,max=9,rare"`
}

func picked(name, set string, also ...string) Op {
	return New(Spec{Name: name, Title: "T", Toolset: set, Also: also, Route: "POST /v1/" + name, Doc: "d"},
		func(context.Context, identity.Caller, pickedInput) (struct{}, error) { return struct{}{}, nil })
}

func TestASelectionHasOperationsOfSeveralToolsets(t *testing.T) {
	t.Parallel()
	c := NewCatalogue([]Op{picked("a", "one", "few"), picked("b", "one"), picked("c", "two", "few", "fewer")})
	if !slices.Equal(c.Toolsets(), []string{"one", "two"}) || !slices.Equal(c.Selections(), []string{"few", "fewer"}) {
		t.Errorf("toolsets %v, selections %v", c.Toolsets(), c.Selections())
	}
	var few string
	for _, o := range c.Ops() {
		if o.ServedIn("few") {
			few += o.Name
		}
	}
	if few != "ac" {
		t.Errorf("few has %s", few)
	}
	if page := string(c.Reference()); !strings.Contains(page, "`/mcp/x/few`") || !strings.Contains(page, "[`a`](#a), [`c`](#c)") {
		t.Errorf("the reference does not list the selection: %.2000s", page)
	}
	defer func() {
		if recover() == nil {
			t.Error("a selection may have the name of a toolset")
		}
	}()
	NewCatalogue([]Op{picked("a", "one", "two"), picked("b", "two")})
}

func TestTheTerseSchemaLeavesOutRareInputsAndBounds(t *testing.T) {
	t.Parallel()
	o := picked("a", "one", "few")
	if want := `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`; string(o.Terse) != want {
		t.Errorf("got %s, want %s", o.Terse, want)
	}
	if !strings.Contains(string(o.Brief), `"seldom"`) || !strings.Contains(string(o.Input), `"seldom"`) {
		t.Errorf("a rare input is missing elsewhere: %s", o.Brief)
	}
}
