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

// Catalogue is the set of operations of a server, with its resources and prompts. Make one with [NewCatalogue], and set
// its fields before the first call; calls may be made concurrently.
type Catalogue struct {
	ops    []*Op
	byName map[string]*Op
	sets   []string
	// selections are the names in Also, in the order of the operations.
	selections []string
	// Resources are the kinds of document that MCP clients list and read by URI.
	Resources []Resource
	// Prompts are the prompts that MCP clients offer to people.
	Prompts []Prompt
	// Guides are the lines of the instructions of MCP endpoints.
	Guides []Guide
	// Defaults are the toolsets of a caller that chooses none.
	Defaults []string
	// Reserved returns the programs of the user's bound keys, under whose names no other key may act. It may be nil.
	Reserved func(ctx context.Context, user string) ([]string, error)
	// Pauses returns the pauses in force for a user. It may be nil.
	Pauses func(ctx context.Context, user string) ([]identity.Pause, error)
	// Waits bounds the calls that wait. It may be nil.
	Waits *Waits
	// Room returns an error if the user may not keep more. It is asked before calls that add something that stays, with the
	// size of their input in bytes. It may be nil.
	Room func(ctx context.Context, user string, bytes int64) error
	// Log receives one line for each call; nil disables it. Now is the clock for durations; [NewCatalogue] sets it to
	// time.Now.
	Log *slog.Logger
	Now func() time.Time
	// Meter is called once at the end of every call, refused ones included; nil disables it. It delays the result, so
	// it must return quickly.
	Meter func(context.Context, Usage)
}

// NewCatalogue returns a catalogue of the operations. It panics if two of them share a name, a route or, within a
// toolset, an alias.
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
		// On the endpoint of a toolset, names and aliases share one namespace.
		claim("the alias "+o.Toolset+"/"+o.Name, o.Name)
		if o.Alias != "" {
			claim("the alias "+o.Toolset+"/"+o.Alias, o.Name)
		}
		for _, r := range o.Routes() {
			claim("the route "+pathParam.ReplaceAllString(r.Route, "{}"), o.Name)
		}
		for _, name := range o.Also {
			if !slices.Contains(c.selections, name) {
				c.selections = append(c.selections, name)
			}
		}
		c.ops = append(c.ops, &o)
		c.byName[o.Name] = &o
	}
	c.sets = Toolsets(slices.Concat(lists...))
	for _, name := range c.selections {
		if slices.Contains(c.sets, name) {
			panic(fmt.Sprintf("op: %s is a toolset and a selection", name))
		}
	}
	return c
}

// Ops returns the operations in the order of their definition.
func (c *Catalogue) Ops() []*Op { return c.ops }

// Toolsets returns the toolsets in the order of their definition.
func (c *Catalogue) Toolsets() []string { return c.sets }

// Selections returns the names for tools of several toolsets, in the order of the operations.
func (c *Catalogue) Selections() []string { return c.selections }

// Toolsets returns the toolsets of the operations without duplicates, in the order of their definition.
func Toolsets(ops []Op) []string {
	var sets []string
	for _, o := range ops {
		if !slices.Contains(sets, o.Toolset) {
			sets = append(sets, o.Toolset)
		}
	}
	return sets
}

// Op returns the operation with the name, or nil.
func (c *Catalogue) Op(name string) *Op { return c.byName[name] }

// Call is one call of an operation.
type Call struct {
	Caller identity.Caller
	// Input must be a JSON object. The call modifies it, so it cannot be used again.
	Input Input
	// Transport is "mcp" or "rest", and RequestID the id of the request. Both are logged.
	Transport, RequestID string
	// Valid returns an error if the caller's key is not valid any more. Calls that wait ask it every few seconds and
	// before they answer. It may be nil.
	Valid func() error
}

// Result is the result of a call that succeeded.
type Result struct {
	// Data is the output as JSON.
	Data json.RawMessage
	// Coerced describes the values of the input that were converted to another type.
	Coerced []string

	undos *undos
}

// Call authorises the caller, checks the input, runs the operation, logs one line and calls the meter.
//
// Its error is always a fault: Forbidden where the caller may not call the operation, Invalid where the input breaks
// its schema, Exhausted where too many calls wait, Quota where the user's storage is full, Paused where a person has
// paused the caller, Internal where the operation panics, and otherwise the fault of the operation.
func (c *Catalogue) Call(ctx context.Context, o *Op, call Call) (res Result, err error) {
	start := c.Now()
	var reported Usage
	defer func() {
		took := c.Now().Sub(start)
		c.log(ctx, o, call, took, err)
		c.meter(ctx, o, call, reported, start, took, err)
	}()
	if err := o.MayCall(call.Caller); err != nil {
		return res, err
	}
	fields, coerced, err := o.schema.check(call.Input)
	if err != nil {
		return res, err
	}
	leave, err := c.admit(ctx, o, call, fields)
	if err != nil {
		return res, err
	}
	defer leave()
	if call.Caller, err = c.informed(ctx, o.Open, call.Caller); err != nil {
		return res, err
	}
	if err := call.Caller.MayUse(call.Caller.Session); err != nil {
		return res, err
	}
	before := call.Caller
	if call.Caller, err = o.inSession(call.Caller, fields); err != nil {
		return res, err
	}
	if ctx, call.Caller, err = c.halt(ctx, o, before, call.Caller, fields); err != nil {
		return res, err
	}
	effects := &undos{}
	ctx = context.WithValue(ctx, undosKey{}, effects)
	run := func(ctx context.Context) (any, error) {
		return protect(func() (any, error) { return o.call(ctx, call.Caller, fields, &reported) })
	}
	out, err := call.guard(ctx, o.Wait != "" && fields[o.Wait] != nil, run)
	if err != nil {
		// The key may have been revoked after the operation took the content of its answer.
		err = errors.Join(err, Result{undos: effects}.Undelivered(ctx))
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
	return Result{Data: data, Coerced: coerced, undos: effects}, nil
}

// admit counts a call against the limits of waits and of storage, before anything else asks the store. leave must be
// called at its end.
func (c *Catalogue) admit(ctx context.Context, o *Op, call Call, fields map[string]any) (leave func(), err error) {
	if c.Room != nil && o.adds() {
		if err := c.Room(ctx, call.Caller.User, int64(call.Input.size)); err != nil {
			return nil, fault.From(err)
		}
	}
	if c.Waits == nil || !o.waits(fields) {
		return func() {}, nil
	}
	return c.Waits.enter(call.Caller)
}

// informed returns the caller with the names that it may not act under.
func (c *Catalogue) informed(ctx context.Context, open bool, caller identity.Caller) (identity.Caller, error) {
	if c.Reserved == nil || caller.IsHuman() || open {
		return caller, nil
	}
	programs, err := c.Reserved(ctx, caller.User)
	if err != nil {
		return caller, fault.From(err)
	}
	caller.Reserved = programs
	return caller, nil
}

// inSession returns the caller with the session of the input. An input without one gets that of the caller.
func (o *Op) inSession(c identity.Caller, fields map[string]any) (identity.Caller, error) {
	if o.session == "" {
		return c, nil
	}
	if id, given := fields[o.session].(string); given && id != "" {
		c.Session = id
		return c, c.MayUse(id)
	}
	if c.Session != "" {
		fields[o.session] = c.Session
	}
	return c, nil
}

// protect runs fn and returns a panic as an Internal fault.
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
		slog.String("keyId", call.Caller.KeyID), slog.Float64("durationMs", float64(took)/float64(time.Millisecond)),
	}
	if o.Open {
		attrs = append(attrs, slog.String("address", call.Caller.Address))
	}
	if err != nil {
		f := fault.From(err)
		attrs = append(attrs, slog.String("fault", f.Kind.Code()))
		switch {
		case f.Kind == fault.Unavailable && errors.Is(err, context.Canceled):
			attrs = append(attrs, slog.Bool("clientGone", true)) // it hung up, or the server drains
		case f.Kind == fault.Internal || f.Kind == fault.Unavailable:
			// The cause helps the operator. Inputs are never logged.
			level, attrs = slog.LevelError, append(attrs, slog.String("cause", err.Error()))
		}
	}
	c.Log.LogAttrs(ctx, level, "operation", attrs...)
}
