package op

import (
	"context"
	"reflect"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Usage is one call as a [Catalogue.Meter] is told of it.
type Usage struct {
	Op, Transport string
	Caller        identity.Caller
	// SessionID is the input's sessionId; empty where it has none or was refused.
	SessionID string
	Took      time.Duration
	// Fault is the code of the fault, empty for a success.
	Fault string
	// TokensIn, TokensOut and CostUSD are the input's tokens_in, tokens_out and
	// cost_usd. A call that failed reports none: its repetition will.
	TokensIn, TokensOut int64
	CostUSD             float64
	// At is when the call came.
	At time.Time
}

// repetition is an output that can say that it repeats an answer given before: what
// the input reports was counted then.
type repetition interface{ Repeated() bool }

// reports is where an input type holds what a meter is told, as field indexes;
// nil for what it does not have.
type reports struct{ session, tokensIn, tokensOut, cost []int }

func reportsOf(in reflect.Type) reports {
	field := func(name string, fits func(reflect.Type) bool) (index []int) {
		if in.Kind() != reflect.Struct {
			return nil
		}
		for _, f := range reflect.VisibleFields(in) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			// Of two with one name, the one that is less deep is what JSON decodes into.
			if tag == name && f.IsExported() && fits(f.Type) && (index == nil || len(f.Index) < len(index)) {
				index = f.Index
			}
		}
		return index
	}
	text := func(t reflect.Type) bool { return t.Kind() == reflect.String }
	whole := func(t reflect.Type) bool { return reflect.Zero(t).CanInt() }
	number := func(t reflect.Type) bool { return whole(t) || reflect.Zero(t).CanFloat() }
	return reports{field("sessionId", text), field("tokens_in", whole), field("tokens_out", whole), field("cost_usd", number)}
}

// at is the field of an input, not valid where the input has none.
func at(in reflect.Value, index []int) reflect.Value {
	if index == nil {
		return reflect.Value{}
	}
	v, err := in.FieldByIndexErr(index) // an embedded pointer may be nil
	if err != nil {
		return reflect.Value{}
	}
	return v
}

// read notes what a decoded input reports.
func (r reports) read(in reflect.Value, said *Usage) {
	if v := at(in, r.session); v.IsValid() {
		said.SessionID = v.String()
	}
	if v := at(in, r.tokensIn); v.IsValid() {
		said.TokensIn = v.Int()
	}
	if v := at(in, r.tokensOut); v.IsValid() {
		said.TokensOut = v.Int()
	}
	switch v := at(in, r.cost); {
	case !v.IsValid():
	case v.CanInt():
		said.CostUSD = float64(v.Int())
	default:
		said.CostUSD = v.Float()
	}
}

func (c *Catalogue) meter(ctx context.Context, o *Op, call Call, said Usage, start time.Time, took time.Duration, err error) {
	if c.Meter == nil {
		return
	}
	u := Usage{Op: o.Name, Transport: call.Transport, Caller: call.Caller, SessionID: said.SessionID, Took: took, At: start}
	if err != nil {
		u.Fault = fault.From(err).Kind.Code()
	} else {
		u.TokensIn, u.TokensOut, u.CostUSD = said.TokensIn, said.TokensOut, said.CostUSD
	}
	c.Meter(ctx, u)
}
