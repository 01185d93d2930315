package op_test

import (
	"context"
	"strings"
	"testing"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

func TestAnOpenOperationIsCalledWithoutAUser(t *testing.T) {
	t.Parallel()
	asked := func(context.Context, string) ([]string, error) {
		t.Error("the programs of no user are asked for")
		return nil, nil
	}
	var at string
	spec := op.Spec{Name: "knock", Title: "Knock", Toolset: "set", Route: "POST /v1/knocks", Doc: "Knocks.", Effect: op.Write,
		Creates: true, RESTOnly: true, Open: true}
	o := op.New(spec, func(_ context.Context, c identity.Caller, _ struct{}) (nothing, error) {
		at = c.Address
		return nothing{}, nil
	})
	c := op.NewCatalogue([]op.Op{o})
	c.Reserved = asked
	c.Pauses = func(context.Context, string) ([]identity.Pause, error) {
		t.Error("the pauses of no user are asked for")
		return nil, nil
	}
	c.Room = func(context.Context, string, int64) error {
		t.Error("the storage of no user is measured")
		return nil
	}
	c.Meter = func(context.Context, op.Usage) { t.Error("the call is recorded for no user") }
	_, err := c.Call(t.Context(), c.Op("knock"), op.Call{Caller: identity.Caller{Address: "192.0.2.1"}, Input: op.Parse([]byte("{}"))})
	if err != nil || at != "192.0.2.1" {
		t.Errorf("called from %q: %v", at, err)
	}
}

func TestAnOpenOperationIsDocumentedAsOneWithoutAKey(t *testing.T) {
	t.Parallel()
	spec := op.Spec{Name: "knock", Route: "POST /v1/knocks", RESTOnly: true, Open: true}
	paths := describe(t, define[struct{}](spec), define[struct{}](op.Spec{Name: "tick", Route: "POST /v1/ticks"}))
	if s := paths["/v1/knocks"]["post"].Security; s == nil || len(*s) != 0 {
		t.Errorf("the security of an open route is %v", s)
	}
	if s := paths["/v1/ticks"]["post"].Security; s != nil {
		t.Errorf("the security of another route is %v", s)
	}
}

func TestAnOpenOperationIsNoTool(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]op.Spec{
		"a tool":     {Name: "knock", Route: "POST /v1/knocks", Open: true},
		"for humans": {Name: "knock", Route: "POST /v1/knocks", Open: true, RESTOnly: true, For: op.Humans},
	} {
		func() {
			defer func() {
				if p, _ := recover().(string); !strings.Contains(p, "open") {
					t.Errorf("%s: %q", name, p)
				}
			}()
			define[struct{}](spec)
		}()
	}
}
