package main

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/op"
)

func TestTheMethodsAreUpToDate(t *testing.T) {
	t.Parallel()
	if err := run(filepath.Join("..", "operations_gen.go"), true); err != nil {
		t.Error(err)
	}
}

func TestCheckingNamesTheFileThatDrifted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "operations_gen.go")
	for _, c := range []struct{ check, want bool }{{true, false}, {false, true}, {true, true}} {
		err := run(file, c.check)
		if (err == nil) != c.want || (err != nil && !strings.Contains(err.Error(), file)) {
			t.Errorf("check %v: %v", c.check, err)
		}
	}
}

func TestATypeWithoutAPublicNameIsRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []op.Op{
		{In: reflect.TypeFor[struct{}](), Out: reflect.TypeFor[op.Spec]()},
		{In: reflect.TypeFor[op.Spec](), Out: reflect.TypeFor[schema]()},
	} {
		o.Name = "sample"
		if _, err := source([]*op.Op{&o}); err == nil || !strings.Contains(err.Error(), "sample") {
			t.Errorf("%v, %v: %v", o.In, o.Out, err)
		}
	}
}

// silent are optional inputs whose zero value means something that their Go type leaves out, so that a caller of the
// typed method cannot say it.
var silent = map[string]string{
	"team_spawn_teammate.subagent_type": "an empty type is the default type",
}

// An input's Go type must be able to express all that its schema takes: required fields are always sent, and no field
// that is left out when zero has a default other than zero.
func TestEveryInputCanBeSaidInItsGoType(t *testing.T) {
	t.Parallel()
	for _, o := range app.New(nil, app.Ports{}).Catalogue().Ops() {
		in := inputOf(o)
		zero, err := json.Marshal(reflect.New(o.In).Elem().Interface())
		var sent map[string]json.RawMessage
		if err != nil || json.Unmarshal(zero, &sent) != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		for _, name := range in.Required {
			if _, ok := sent[name]; !ok {
				t.Errorf("%s: %s is required and left out when it is zero", o.Name, name)
			}
		}
		for name := range sent {
			if !slices.Contains(in.Required, name) {
				t.Errorf("%s: %s is optional and sent when it is zero", o.Name, name)
			}
		}
		for _, f := range reflect.VisibleFields(o.In) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := in.Properties[name]; p != nil && !f.Anonymous && f.Type.Kind() != reflect.Pointer &&
				p.zeroIsAnother() &&
				silent[o.Name+"."+name] == "" {
				t.Errorf(
					"%s: the zero of %s is allowed, left out, and not the default; make it a pointer",
					o.Name,
					name,
				)
			}
		}
	}
}

// zeroIsAnother reports whether the zero value is allowed and other than the default.
func (s *schema) zeroIsAnother() bool {
	if len(s.Default) == 0 {
		return false
	}
	byDefault := string(s.Default)
	switch s.Type {
	case "boolean":
		return byDefault != "false"
	case "integer", "number":
		return byDefault != "0" && (s.Minimum == nil || *s.Minimum <= 0) && s.ExclusiveMinimum == nil
	case "string":
		return byDefault != `""` && s.MinLength == nil && len(s.Enum) == 0 && s.Pattern == ""
	}
	return byDefault != "[]" && byDefault != "{}"
}

// A query has no form for an object.
func TestWhatGoesIntoAQueryIsAValueOrAListOfTexts(t *testing.T) {
	t.Parallel()
	for _, o := range app.New(nil, app.Ports{}).Catalogue().Ops() {
		if m := op.Method(o.Route); m != "GET" && m != "DELETE" {
			continue
		}
		for name, p := range inputOf(o).Properties {
			if p.Type == "object" || (p.Items != nil && p.Items.Type != "string") {
				t.Errorf("%s: %s cannot go into a query", o.Name, name)
			}
		}
	}
}

func TestACommentIsWrapped(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(comment(strings.Repeat("word ", 100))) {
		if !strings.HasPrefix(line, "// word") || len(line) > width+1 {
			t.Errorf("%d: %s", len(line), line)
		}
	}
}
