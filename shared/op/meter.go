package op

import (
	"context"
	"reflect"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Usage describes one call to a [Catalogue.Meter].
type Usage struct {
	Op, Transport string
	Caller        identity.Caller
	// SessionID is the sessionId of the input. It is empty where the input has none or was refused.
	SessionID string
	Took      time.Duration
	// Fault is the code of the fault, empty for a success.
	Fault string
	// TokensIn, TokensOut and CostUSD are tokens_in, tokens_out and cost_usd of the input. They are zero for a call
	// that failed, because its repetition reports them.
	TokensIn, TokensOut int64
	CostUSD             float64
	// At is the time at which the call began.
	At time.Time
}

// repetition is an output that may repeat an earlier result, whose usage was counted with the first call.
type repetition interface{ Repeated() bool }

// reports holds the indexes of the fields of an input type that a meter reads; an index is nil where the type lacks
// the field.
type reports struct{ session, tokensIn, tokensOut, cost []int }

func reportsOf(in reflect.Type) reports {
	field := func(name string, fits func(reflect.Type) bool) (index []int) {
		if in.Kind() != reflect.Struct {
			return nil
		}
		for _, f := range reflect.VisibleFields(in) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			// Of two fields with one name, JSON is decoded into the one that is less deep.
			if tag == name && f.IsExported() && fits(f.Type) && (index == nil || len(f.Index) < len(index)) {
				index = f.Index
			}
		}
		return index
	}
	text := func(t reflect.Type) bool { return t.Kind() == reflect.String }
	whole := func(t reflect.Type) bool { return reflect.Zero(t).CanInt() }
	number := func(t reflect.Type) bool { return whole(t) || reflect.Zero(t).CanFloat() }
	return reports{
		field("sessionId", text),
		field("tokens_in", whole),
		field("tokens_out", whole),
		field("cost_usd", number),
	}
}

// at returns the field of an input. It is not valid where the input lacks the field.
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

// read sets the usage that a decoded input reports.
func (r reports) read(in reflect.Value, reported *Usage) {
	if v := at(in, r.session); v.IsValid() {
		reported.SessionID = v.String()
	}
	if v := at(in, r.tokensIn); v.IsValid() {
		reported.TokensIn = v.Int()
	}
	if v := at(in, r.tokensOut); v.IsValid() {
		reported.TokensOut = v.Int()
	}
	switch v := at(in, r.cost); {
	case !v.IsValid():
	case v.CanInt():
		reported.CostUSD = float64(v.Int())
	default:
		reported.CostUSD = v.Float()
	}
}

func (c *Catalogue) meter(
	ctx context.Context,
	o *Op,
	call Call,
	reported Usage,
	start time.Time,
	took time.Duration,
	err error,
) {
	if c.Meter == nil || o.Open { // its calls are nobody's
		return
	}
	u := Usage{
		Op:        o.Name,
		Transport: call.Transport,
		Caller:    call.Caller,
		SessionID: reported.SessionID,
		Took:      took,
		At:        start,
	}
	if err != nil {
		u.Fault = fault.From(err).Kind.Code()
	} else {
		u.TokensIn, u.TokensOut, u.CostUSD = reported.TokensIn, reported.TokensOut, reported.CostUSD
	}
	c.Meter(ctx, u)
}
