package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// lists calls found with the path and the schema of every list of an input.
func lists(s *jsonschema.Schema, at string, found func(path string, s *jsonschema.Schema)) {
	if s.Type == "array" {
		found(at, s)
	}
	if s.Items != nil {
		lists(s.Items, at+"[]", found)
	}
	for name, p := range s.Properties {
		lists(p, strings.TrimPrefix(at+"."+name, "."), found)
	}
}

func inputOf(t *testing.T, o *op.Op) *jsonschema.Schema {
	t.Helper()
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(o.Input, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryListOfAnInputDeclaresItsLength(t *testing.T) {
	t.Parallel()
	for _, o := range app.New(nil, app.Ports{}).Catalogue().Ops() {
		lists(inputOf(t, o), "", func(path string, s *jsonschema.Schema) {
			if s.MaxItems == nil {
				t.Errorf("%s: %s has no greatest length: write allow:\"max=…\"", o.Name, path)
			}
		})
	}
}

const mebibyte = 1 << 20

// full returns a text of almost 1 MiB: head, as many parts as fit, and tail.
func full(head, part, tail string) []byte {
	n := (mebibyte - len(head) - len(tail)) / len(part)
	return []byte(head + strings.TrimSuffix(strings.Repeat(part, n), ",") + tail)
}

// wrap returns the text before and after a value at a path of an input, "a[].b".
func wrap(path string) (head, tail string) {
	for part := range strings.SplitSeq(path, ".") {
		name := strings.TrimRight(part, "[]")
		depth := strings.Count(part, "[]")
		head += fmt.Sprintf("{%q:", name) + strings.Repeat("[", depth)
		tail = strings.Repeat("]", depth) + "}" + tail
	}
	return head, tail
}

// hostile returns bodies of 1 MiB that an input cannot be.
func hostile(s *jsonschema.Schema) map[string][]byte {
	var names bytes.Buffer
	names.WriteString(`{"x":1`)
	for i := 0; names.Len() < mebibyte-20; i++ {
		fmt.Fprintf(&names, `,"n%d":{}`, i)
	}
	names.WriteByte('}')
	bodies := map[string][]byte{
		"a list":          full("[", "{},", "]"),
		"unknown fields":  names.Bytes(),
		"a repeated one":  full("{", `"x":{},`, "}"),
		"an unknown list": full(`{"x":[`, "{},", "]}"),
		"a deep one":      []byte(`{"x":` + strings.Repeat(`{"x":`, 9990) + "1" + strings.Repeat("}", 9991)),
		"no end":          full("{", `"x":[`, ""),
		"bad UTF-8":       append(full(`{"x":[`, `{"y":1},`, `],"z":"`), "\xff\"}"...),
	}
	lists(s, "", func(path string, list *jsonschema.Schema) {
		head, tail := wrap(path)
		for _, part := range []string{"{},", "[],", "0,", `"",`, "1e9,", `{"x":1},`, `{"id":"a"},`} {
			bodies[path+" of "+part] = full(head+"[", part, "]"+tail)
		}
		bodies[path+" as text"] = full(head+`"[`, "{},", `]"`+tail)
		most := 1000
		if list.MaxItems != nil {
			most = *list.MaxItems
		}
		item := "{" + strings.TrimSuffix(strings.Repeat(`"x":{},`, max(1, min(mebibyte/most-10, mebibyte)/7-1)), ",") + "},"
		bodies[path+" of large members"] = []byte(head + "[" + strings.TrimSuffix(strings.Repeat(item, most), ",") + "]" + tail)
	})
	for name, p := range s.Properties {
		switch p.Type {
		case "object":
			bodies[name+" of many"] = full(fmt.Sprintf(`{%q:{"x":[`, name), "{},", "]}}")
			bodies[name+" of fields"] = full(fmt.Sprintf("{%q:{", name), `"x":{},`, "}}")
			bodies[name+" deep"] = []byte(fmt.Sprintf(`{%q:`, name) + strings.Repeat(`{"x":`, 9000) + "1" + strings.Repeat("}", 9001))
		case "string", "integer", "boolean", "number":
			bodies[name+" as a list"] = full(fmt.Sprintf("{%q:[", name), "{},", "]}")
		}
	}
	return bodies
}

func TestAttackABodyOf1MiBIsRefusedWithin20MiBOfAllocations(t *testing.T) {
	c := app.New(nil, app.Ports{}).Catalogue()
	human := identity.Caller{User: "u", Program: "p", Kind: identity.Human}
	worst, of := uint64(0), ""
	for i, o := range c.Ops() {
		if os.Getenv("PARLEY_ATTACK") != "long" && o.Name != "create_sprint" && i%12 != 0 {
			continue // the short form takes some operations
		}
		for name, body := range hostile(inputOf(t, o)) {
			if len(body) > mebibyte {
				t.Fatalf("%s: the body has %d bytes", name, len(body))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.Call(context.Background(), o, op.Call{Caller: human, Input: op.Parse(body)})
			runtime.ReadMemStats(&after)
			f := fault.From(err)
			if !fault.Is(err, fault.Invalid) || len(f.Problems) > 21 || len(f.Message) > 20_000 {
				t.Fatalf("%s, %s: got %d problems, %.300v", o.Name, name, len(f.Problems), err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > worst {
				worst, of = used, o.Name+", "+name
			}
		}
	}
	if t.Logf("the worst takes %d KiB: %s", worst>>10, of); worst > 20*mebibyte {
		t.Errorf("%s takes %d MiB, want at most 20", of, worst>>20)
	}
}
