package op

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Catalogue is all operations of a server.
type Catalogue struct {
	ops    []*Op
	byName map[string]*Op
	sets   []string
	// Resources are what MCP clients list and read by a URI.
	Resources []Resource
	// Prompts are what MCP clients offer to people.
	Prompts []Prompt
	// Defaults are the toolsets that a caller gets who chooses none.
	Defaults []string
	// Log gets one line an operation; nil for none. Now is the clock of its
	// durations, time.Now where nil.
	Log *slog.Logger
	Now func() time.Time
	// Meter is told of every call, refused ones too, once and when it is over; nil
	// for none. The caller waits for it, so it must be quick and may not block.
	Meter func(context.Context, Usage)
}

// NewCatalogue collects operations. It panics where two share a name, a route or
// an alias within a toolset.
func NewCatalogue(lists ...[]Op) *Catalogue {
	c := &Catalogue{byName: map[string]*Op{}, Now: time.Now}
	taken := map[string]string{}
	claim := func(what, by string) {
		if other, dup := taken[what]; dup {
			panic(fmt.Sprintf("op: %s and %s share %s", other, by, what))
		}
		taken[what] = by
	}
	for _, o := range slices.Concat(lists...) {
		claim("the name "+o.Name, o.Name)
		// Within a toolset an alias is like a name: one text must not mean two tools.
		claim("the alias "+o.Toolset+"/"+o.Name, o.Name)
		if o.Alias != "" {
			claim("the alias "+o.Toolset+"/"+o.Alias, o.Name)
		}
		for _, r := range o.Routes() {
			claim("the route "+pathParam.ReplaceAllString(r.Route, "{}"), o.Name)
		}
		c.ops = append(c.ops, &o)
		c.byName[o.Name] = &o
	}
	c.sets = Toolsets(slices.Concat(lists...))
	return c
}

// Ops lists the operations in the order of their definition.
func (c *Catalogue) Ops() []*Op { return c.ops }

// Toolsets lists the toolsets in the order of their definition.
func (c *Catalogue) Toolsets() []string { return c.sets }

// Toolsets lists the toolsets of operations, each once, in the order of their definition.
func Toolsets(ops []Op) []string {
	var sets []string
	for _, o := range ops {
		if !slices.Contains(sets, o.Toolset) {
			sets = append(sets, o.Toolset)
		}
	}
	return sets
}

// Op is the operation of the name, or nil.
func (c *Catalogue) Op(name string) *Op { return c.byName[name] }

// Call is one call of an operation.
type Call struct {
	Caller identity.Caller
	// Input is a JSON object. The call uses it up.
	Input Input
	// Transport is "mcp" or "rest", RequestID the request's; both for the log.
	Transport, RequestID string
}

// Result is what a call came to.
type Result struct {
	// Data is the output as JSON.
	Data json.RawMessage
	// Coerced says what of the input was read as another type.
	Coerced []string
}

// Call checks whether the caller may, reads the input, runs the operation, writes
// one line to the log and tells the meter. Its error is a fault; a panic is an
// Internal one.
func (c *Catalogue) Call(ctx context.Context, o *Op, call Call) (res Result, err error) {
	start := c.Now()
	var said Usage
	defer func() {
		took := c.Now().Sub(start)
		c.log(ctx, o, call, took, err)
		c.meter(ctx, o, call, said, start, took, err)
	}()
	if err := o.MayCall(call.Caller); err != nil {
		return res, err
	}
	fields, coerced, err := o.schema.check(call.Input)
	if err != nil {
		return res, err
	}
	out, err := protect(func() (any, error) { return o.call(ctx, call.Caller, fields, &said) })
	if err != nil {
		var f *fault.Error
		if !errors.As(err, &f) {
			err = fault.From(err)
		}
		return res, err
	}
	data, err := json.Marshal(out)
	if err != nil {
		return res, fault.Wrap(fault.Internal, err, "output")
	}
	return Result{Data: data, Coerced: coerced}, nil
}

func protect(fn func() (any, error)) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Wrap(fault.Internal, fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "internal error")
		}
	}()
	return fn()
}

func (c *Catalogue) log(ctx context.Context, o *Op, call Call, took time.Duration, err error) {
	if c.Log == nil {
		return
	}
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("op", o.Name), slog.String("transport", call.Transport), slog.String("requestId", call.RequestID),
		slog.String("user", call.Caller.User), slog.String("program", call.Caller.Program),
		slog.String("keyId", call.Caller.KeyID), slog.Duration("took", took),
	}
	if err != nil {
		f := fault.From(err)
		attrs = append(attrs, slog.String("fault", f.Kind.Code()))
		if f.Kind == fault.Internal || f.Kind == fault.Unavailable {
			// The cause is for the operator; an input is not repeated in the log.
			level, attrs = slog.LevelError, append(attrs, slog.String("cause", err.Error()))
		}
	}
	c.Log.LogAttrs(ctx, level, "operation", attrs...)
}
