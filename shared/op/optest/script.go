package optest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/op"
	"parley.internal/shared/passkeys/softkey"
)

// Caller makes the calls of a script, for one user.
type Caller interface {
	// Call calls an operation and returns its output, a JSON object.
	Call(t testing.TB, o *op.Op, as op.Role, in op.In) (json.RawMessage, error)
	// Pass lets the time d pass.
	Pass(d time.Duration)
}

// Script runs steps for one user and holds the values that they saved.
type Script struct {
	Catalogue *op.Catalogue
	Caller    Caller

	saved map[string]any
}

// Prepare makes the calls of the steps. It ends the test if one of them fails.
func (s *Script) Prepare(t testing.TB, steps []op.Step) {
	t.Helper()
	for _, step := range steps {
		o := s.Catalogue.Op(step.Op)
		if o == nil {
			t.Fatalf("there is no operation %s", step.Op)
		}
		for i := range max(step.Times, 1) {
			s.Pass(step.Pass)
			s.set("i", strconv.Itoa(i))
			in := s.Fill(step.In)
			out, err := s.Caller.Call(t, o, step.As, in)
			if err != nil {
				t.Fatalf("%s %v, which prepares a case: %v", step.Op, in, err)
			}
			s.save(t, step, out)
		}
	}
}

// Pass lets the time d pass if it is positive.
func (s *Script) Pass(d time.Duration) {
	if d > 0 {
		s.Caller.Pass(d)
	}
}

func (s *Script) set(name string, v any) {
	if s.saved == nil {
		s.saved = map[string]any{}
	}
	s.saved[name] = v
}

func (s *Script) save(t testing.TB, step op.Step, out json.RawMessage) {
	t.Helper()
	if step.Save == "" {
		return
	}
	for one := range strings.SplitSeq(step.Save, ", ") {
		field, name, ok := strings.Cut(one, " as ")
		if !ok {
			t.Fatalf("%s saves %q; want \"field as name\"", step.Op, one)
		}
		var fields map[string]any
		if err := json.Unmarshal(out, &fields); err != nil || fields[field] == nil {
			t.Fatalf("%s has no output %s to save: %s (%v)", step.Op, field, out, err)
		}
		s.set(name, fields[field])
	}
}

var reference = regexp.MustCompile(`\$[a-z][A-Za-z0-9]*`)

// Fill returns a copy of an input with its references replaced by the saved values. A nil input is empty.
func (s *Script) Fill(in op.In) op.In {
	out, ok := s.fill(in).(op.In)
	if !ok || out == nil {
		return op.In{}
	}
	return out
}

func (s *Script) fill(v any) any {
	switch x := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(reference.FindString(x), "$"); ok && "$"+name == x {
			if saved, ok := s.saved[name]; ok {
				return saved
			}
		}
		return s.FillText(x)
	case []string:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = s.fill(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = s.fill(e)
		}
		return out
	case op.Made:
		return s.make(x)
	case op.In:
		out := make(op.In, len(x))
		for name, e := range x {
			out[name] = s.fill(e)
		}
		return out
	}
	return v
}

// FillText returns a text with its references replaced by the saved values.
func (s *Script) FillText(text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		if v, ok := s.saved[ref[1:]]; ok {
			return fmt.Sprint(v)
		}
		return ref
	})
}

// make returns a value that a client makes. One without a maker, or of a value that was not saved, is nil.
func (s *Script) make(m op.Made) any {
	raw, err := json.Marshal(s.saved[m.From])
	if err != nil {
		return nil
	}
	return softkey.Make(m.By, raw)
}

// Elsewhere returns a copy of an input in which the given fields hold ids and names of the same form that no document
// has.
func Elsewhere(in op.In, inputs ...string) op.In {
	out := maps.Clone(in)
	for name, v := range out {
		if slices.Contains(inputs, name) {
			out[name] = nowhere(v)
		}
	}
	return out
}

func nowhere(v any) any {
	switch x := v.(type) {
	case string:
		// The program of an address is a name that both callers have.
		program, id, qualified := strings.Cut(x, "/")
		if !qualified {
			program, id = "", x
		} else {
			program += "/"
		}
		return program + strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return '0'
			}
			return r
		}, id)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = nowhere(e)
		}
		return out
	}
	return v
}

// Title returns the name of a case for the output of a test.
func Title(o *op.Op, name string) string { return strings.TrimSpace(o.Name + " " + name) }
