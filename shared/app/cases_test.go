package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/op/optest"
)

func TestEveryOperationHasItsCases(t *testing.T) {
	t.Parallel()
	for _, o := range catalogue().Ops() {
		if o.Cases == nil {
			continue
		}
		if err := o.Cases().Check(o); err != nil {
			t.Error(err)
		}
	}
}

// inProcess calls operations for a user as a transport does.
type inProcess struct {
	w    *world
	user string
}

func (p inProcess) caller(as op.Role) identity.Caller {
	switch as {
	case op.Human:
		return human(p.user)
	case op.Unbound:
		return identity.Caller{User: p.user, KeyID: "unbound", Kind: identity.Agent}
	case op.Alpha:
		return bound(p.user, "alpha")
	}
	return bound(p.user, string(as))
}

// Call implements optest.Caller.
func (p inProcess) Call(t testing.TB, o *op.Op, as op.Role, in op.In) (json.RawMessage, error) {
	t.Helper()
	return p.w.call(p.caller(as), o.Name, in)
}

// Pass implements optest.Caller.
func (p inProcess) Pass(d time.Duration) { p.w.now = p.w.now.Add(d) }

func TestEveryExampleEndsAsItsSpecSays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		// Each case has a user of its own, so that none depends on another.
		users := 0
		fresh := func() (*optest.Script, inProcess) {
			users++
			p := inProcess{w, fmt.Sprintf("user-%d", users)}
			return &optest.Script{Catalogue: w.Catalogue(), Caller: p}, p
		}
		for _, o := range w.Catalogue().Ops() {
			if o.Cases == nil {
				continue
			}
			cases := o.Cases()
			for _, e := range cases.Examples {
				s, _ := fresh()
				s.Prepare(t, e.Given)
				s.Pass(e.Pass)
				out, err := s.Caller.Call(t, o, e.As, s.Fill(e.In))
				if (err == nil) != (e.Fault == fault.Internal) || (err != nil && fault.Of(err) != e.Fault) {
					t.Errorf("%s: %s, %v; want %v", optest.Title(o, e.Name), out, err, e.Fault)
				}
			}
			for _, r := range cases.Refused {
				s, p := fresh()
				s.Prepare(t, r.Given)
				_, err := w.Catalogue().Call(t.Context(), o, op.Call{Caller: p.caller(r.As), Input: op.Parse([]byte(s.FillText(r.In))), Transport: "mcp"})
				if !fault.Is(err, fault.Invalid) || !slices.ContainsFunc(fault.From(err).Problems, func(p fault.Problem) bool {
					return p.Path == r.Path && strings.Contains(p.Message, r.Words)
				}) {
					t.Errorf("%s, refused for %s: %v; want that %s %s", o.Name, r.Name, err, r.Path, r.Words)
				}
			}
		}
	})
}
