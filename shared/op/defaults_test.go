package op

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"parley.internal/shared/identity"
)

// preset has a default in every place where an input can have one.
type preset struct {
	Idempotency
	Limit   int             `json:"limit,omitempty" allow:"min=0,max=50,default=10"`
	Peek    *bool           `json:"peek,omitempty" allow:"default=true"`
	Color   string          `json:"color,omitempty" allow:"enum=red|green,default=red"`
	Part    *presetPart     `json:"part,omitempty"`
	Stories []presetPart    `json:"stories,omitempty" allow:"max=3"`
	Data    json.RawMessage `json:"data,omitempty"`
}

type presetPart struct {
	Title string `json:"title,omitempty" allow:"max=5"`
	Wave  *int   `json:"wave,omitempty" allow:"min=0,default=1"`
}

// boundInput calls an operation with a text and returns the input that reaches it.
func boundInput(t *testing.T, text string) preset {
	t.Helper()
	var got preset
	c := NewCatalogue([]Op{New(Spec{
		Name:    "preset",
		Title:   "Preset",
		Toolset: "set",
		Route:   "POST /v1/presets",
		Doc:     "A preset.",
		Effect:  Write,
	},
		func(_ context.Context, _ identity.Caller, in preset) (struct{}, error) {
			got = in
			return struct{}{}, nil
		})})
	if _, err := c.Call(t.Context(), c.Op("preset"), Call{Input: Parse([]byte(text))}); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return got
}

func TestAMissingFieldGetsItsDefault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want preset
	}{
		"everything": {`{}`, preset{Limit: 10, Peek: new(true), Color: "red"}},
		"no input":   {``, preset{Limit: 10, Peek: new(true), Color: "red"}},
		"null":       {`{"limit":null}`, preset{Limit: 10, Peek: new(true), Color: "red"}},
		"nothing": {
			`{"limit":0,"peek":false,"color":"green"}`, preset{Limit: 0, Peek: new(false), Color: "green"},
		},
		"a field of an object": {
			`{"part":{"title":"x"}}`, preset{Limit: 10, Peek: new(true), Color: "red", Part: &presetPart{"x", new(1)}},
		},
		"a field of a list's": {
			`{"stories":[{},{"wave":0}]}`,
			preset{Limit: 10, Peek: new(true), Color: "red", Stories: []presetPart{{"", new(1)}, {"", new(0)}}},
		},
		"an object of any fields": {
			`{"data":{"a":[1,null]}}`,
			preset{Limit: 10, Peek: new(true), Color: "red", Data: json.RawMessage(`{"a":[1,null]}`)},
		},
	} {
		if got := boundInput(t, c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s reaches the operation as %+v, want %+v", name, c.text, got, c.want)
		}
		if name == "nothing" {
			continue // a zero that Go leaves out of JSON cannot be told from a field that is left out
		}
		var in preset
		if c.text != "" {
			if err := json.Unmarshal([]byte(c.text), &in); err != nil {
				t.Fatal(err)
			}
		}
		if name == "a field of a list's" {
			in.Stories[1].Wave = new(0)
		}
		if got := FillAs(identity.Caller{}, "preset", in); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: is filled to %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAKeyIsTiedToItsOperationAndInput(t *testing.T) {
	t.Parallel()
	first := boundInput(t, `{"idempotencyKey":"k","color":"red","stories":[{"title":"a"}]}`)
	if first.Operation() != "preset" || first.Key() != "k" || len(first.Digest()) != 64 {
		t.Errorf("%q %q %q", first.Operation(), first.Key(), first.Digest())
	}
	for text, same := range map[string]bool{
		`{"stories":[{"title":"a","wave":1}],"idempotencyKey":"k"}`:         true, // equal after defaults
		`{"stories":[{"title":"a","wave":"1"}],"idempotencyKey":"another"}`: true,
		`{"stories":[{"title":"b"}],"idempotencyKey":"k"}`:                  false,
		`{"idempotencyKey":"k"}`:                                            false,
	} {
		if got := boundInput(t, text); (got.Digest() == first.Digest()) != same {
			t.Errorf("%s: has the digest %s, the first %s", text, got.Digest(), first.Digest())
		}
	}
	if got := boundInput(t, `{}`); got.Operation() != "" || got.Digest() != "" {
		t.Errorf("without a key: %q %q", got.Operation(), got.Digest())
	}
	filled := FillAs(identity.Caller{}, "preset", preset{
		Idempotency: Idempotency{IdempotencyKey: "k"},
		Stories:     []presetPart{{Title: "a"}},
	})
	if filled.Digest() != first.Digest() || filled.Operation() != "preset" {
		t.Errorf("filled: %+v, called: %+v", filled, first)
	}
}
