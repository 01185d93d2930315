package op

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

type session struct {
	SessionID string `json:"sessionId,omitempty" allow:"max=20"`
}

type metered struct {
	session
	TokensIn  int64   `json:"tokens_in,omitempty" allow:"min=0"`
	TokensOut int     `json:"tokens_out,omitempty" allow:"min=0"`
	CostUSD   float64 `json:"cost_usd,omitempty" allow:"min=0"`
}

type share struct {
	Share float64 `json:"share"`
}

var meteredSpec = Spec{
	Name:    "metered",
	Title:   "Metered",
	Toolset: "set",
	Route:   "POST /v1/metered",
	Doc:     "What reports.",
	Effect:  Write,
}

// usages runs one call and returns the usages that its meter received.
func usages(
	t *testing.T,
	caller identity.Caller,
	args string,
	fn func(context.Context, identity.Caller, metered) (share, error),
) []Usage {
	t.Helper()
	c := NewCatalogue([]Op{New(meteredSpec, fn)})
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.Now = func() time.Time { now = now.Add(time.Second); return now }
	var told []Usage
	c.Meter = func(_ context.Context, u Usage) { told = append(told, u) }
	_, err := c.Call(t.Context(), c.Op("metered"), Call{Caller: caller, Input: Parse([]byte(args)), Transport: "rest"})
	if len(told) == 1 && (err != nil) != (told[0].Fault != "") {
		t.Errorf("%s: the call came to %v, the meter was told %q", args, err, told[0].Fault)
	}
	return told
}

func TestTheMeterIsCalledOnceForEveryCall(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, identity.Caller, metered) (share, error) { return share{}, nil }
	caller := identity.Caller{User: "u1", Program: "alpha", KeyID: "k1"}
	const full = `{"sessionId":"s1","tokens_in":12,"tokens_out":"7","cost_usd":0.25}`
	for name, c := range map[string]struct {
		args     string
		readOnly bool
		fn       func(context.Context, identity.Caller, metered) (share, error)
		want     Usage
	}{
		"a success":           {full, false, ok, Usage{SessionID: "s1", TokensIn: 12, TokensOut: 7, CostUSD: 0.25}},
		"nothing reported":    {`{}`, false, ok, Usage{}},
		"a whole cost":        {`{"cost_usd":3}`, false, ok, Usage{CostUSD: 3}},
		"no arguments at all": {``, false, ok, Usage{}},
		"a fault": {full, false, func(context.Context, identity.Caller, metered) (share, error) {
			return share{}, fault.New(fault.Precondition, "stale")
		}, Usage{SessionID: "s1", Fault: "FAILED_PRECONDITION"}},
		"an error that is none": {full, false, func(context.Context, identity.Caller, metered) (share, error) {
			return share{}, errors.New("disk")
		}, Usage{SessionID: "s1", Fault: "INTERNAL"}},
		"a panic": {full, false, func(context.Context, identity.Caller, metered) (share, error) {
			panic("no")
		}, Usage{SessionID: "s1", Fault: "INTERNAL"}},
		"an output that is not JSON": {full, false, func(context.Context, identity.Caller, metered) (share, error) {
			return share{math.NaN()}, nil
		}, Usage{SessionID: "s1", Fault: "INTERNAL"}},
		"an ended context": {full, false, func(context.Context, identity.Caller, metered) (share, error) {
			return share{}, context.Canceled
		}, Usage{SessionID: "s1", Fault: "UNAVAILABLE"}},
		"a refused input": {
			`{"sessionId":"s1","tokens_in":-1,"cost_usd":2}`, false, ok, Usage{Fault: "INVALID_ARGUMENT"},
		},
		"no JSON":          {`hush`, false, ok, Usage{Fault: "INVALID_ARGUMENT"}},
		"a refused caller": {full, true, ok, Usage{Fault: "FORBIDDEN"}},
	} {
		caller := caller
		caller.ReadOnly = c.readOnly
		c.want.Op, c.want.Transport, c.want.Caller, c.want.Took = "metered", "rest", caller, time.Second
		c.want.At = time.Date(2026, 3, 1, 12, 0, 1, 0, time.UTC)
		if told := usages(t, caller, c.args, c.fn); len(told) != 1 || !reflect.DeepEqual(told[0], c.want) {
			t.Errorf("%s: told %+v", name, told)
		}
	}
}

func TestUsageIsReadFromTheNamedFieldsOfAnInput(t *testing.T) {
	t.Parallel()
	type part struct {
		*session
		TokensIn *int64 `json:"tokens_in,omitempty"`
		CostUSD  int    `json:"cost_usd,omitempty"`
	}
	r := reportsOf(reflect.TypeFor[part]())
	var said Usage
	r.read(reflect.ValueOf(part{CostUSD: 2}), &said)
	if said.CostUSD != 2 || said.SessionID != "" || said.TokensIn != 0 {
		t.Errorf("without its embedded part: %+v", said)
	}
	said = Usage{}
	r.read(reflect.ValueOf(part{session: &session{SessionID: "s1"}}), &said)
	if said.SessionID != "s1" {
		t.Errorf("with its embedded part: %+v", said)
	}
	r = reportsOf(reflect.TypeFor[sample]())
	if r.session != nil || r.tokensIn != nil || r.tokensOut != nil || r.cost != nil {
		t.Errorf("found in a type without any: %+v", r)
	}
}

func TestOfTwoFieldsWithOneNameTheOuterIsRead(t *testing.T) {
	t.Parallel()
	type outer struct {
		session
		ID string `json:"sessionId"`
	}
	var in outer
	if err := json.Unmarshal([]byte(`{"sessionId":"s1"}`), &in); err != nil {
		t.Fatal(err)
	}
	var said Usage
	if reportsOf(reflect.TypeFor[outer]()).read(reflect.ValueOf(in), &said); said.SessionID != "s1" {
		t.Errorf("%+v in %+v", said, in)
	}
}
