package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Programs are the agents of the day.
var Programs = []string{"architect", "backend", "frontend", "reviewer", "tester", "release"}

// person is the caller of a step of the human.
const person = ""

type in = map[string]any

// step is one call of the day.
type step struct {
	before time.Duration // the end of the day
	as     string        // a program, or person
	op     string
	in     in
	save   string // "taskId as review" keeps a field of the output for later inputs, as $review; "list.0.id" is one of its first member
}

// clock is the time of the day that is played. It is safe for concurrent use.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Play plays the day into the data of a user, so that it ends at the time given, and returns the keys of the agents by
// their programs. The store must be that of [app.Schema].
func Play(ctx context.Context, db *store.DB, user string, end time.Time) (map[string]string, error) {
	c := &clock{now: end.Add(-dawn)}
	a := app.New(db, app.Ports{Now: c.Now})
	p := player{catalogue: a.Catalogue(), callers: map[string]identity.Caller{
		person: {User: user, KeyID: "demo-person", Kind: identity.Human, Assurance: identity.Device},
	}, saved: map[string]any{}}
	p.catalogue.Now = c.Now
	keys := map[string]string{}
	for _, name := range Programs {
		var made struct{ ID, Key string }
		if err := p.call(ctx, step{op: "create_key", in: in{"program": name, "name": "the " + name}}, &made); err != nil {
			return nil, err
		}
		p.callers[name] = identity.Caller{User: user, Program: name, KeyID: made.ID, Kind: identity.Agent}
		keys[name] = made.Key
	}
	steps := slices.Concat(sessions(), sprintDay(), team(), work(), mail(), talk(), inbox(), reservations())
	slices.SortStableFunc(steps, func(a, b step) int { return int(b.before - a.before) })
	for _, s := range steps {
		c.set(end.Add(-s.before))
		if err := p.call(ctx, s, nil); err != nil {
			return nil, err
		}
	}
	if err := a.Ledger.Flush(ctx); err != nil {
		return nil, err
	}
	return keys, nil
}

type player struct {
	catalogue *op.Catalogue
	callers   map[string]identity.Caller
	saved     map[string]any
}

// call makes the call of a step, keeps the value that the step saves, and decodes the output into out, unless that is
// nil.
func (p *player) call(ctx context.Context, s step, out any) error {
	o := p.catalogue.Op(s.op)
	if o == nil {
		return fmt.Errorf("demo: there is no operation %s", s.op)
	}
	text, err := json.Marshal(p.fill(s.in))
	if err != nil {
		return fmt.Errorf("demo: %s: %w", s.op, err)
	}
	res, err := p.catalogue.Call(ctx, o, op.Call{Caller: p.callers[s.as], Input: op.Parse(text), Transport: "rest"})
	if err != nil {
		return fmt.Errorf("demo: %s by %q, %v before the end, with %s: %w", s.op, s.as, s.before, text, err)
	}
	if out != nil {
		if err := json.Unmarshal(res.Data, out); err != nil {
			return fmt.Errorf("demo: %s: %w", s.op, err)
		}
	}
	field, name, saves := strings.Cut(s.save, " as ")
	if !saves {
		return nil
	}
	var found any
	if err := json.Unmarshal(res.Data, &found); err != nil {
		return fmt.Errorf("demo: %s: %w", s.op, err)
	}
	for each := range strings.SplitSeq(field, ".") {
		found = member(found, each)
	}
	p.saved["$"+name] = found
	return nil
}

// member returns a member of an object by its name, or one of a list by its number, nil if there is none.
func member(of any, name string) any {
	switch x := of.(type) {
	case map[string]any:
		return x[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i < len(x) {
			return x[i]
		}
	}
	return nil
}

// fill returns an input with the values that earlier steps saved.
func (p *player) fill(v any) any {
	switch x := v.(type) {
	case string:
		if kept, ok := p.saved[x]; ok {
			return kept
		}
	case in:
		filled := in{}
		for name, field := range x {
			filled[name] = p.fill(field)
		}
		return filled
	case []string:
		filled := make([]any, len(x))
		for i, each := range x {
			filled[i] = p.fill(each)
		}
		return filled
	case []in:
		filled := make([]any, len(x))
		for i, each := range x {
			filled[i] = p.fill(each)
		}
		return filled
	}
	return v
}
