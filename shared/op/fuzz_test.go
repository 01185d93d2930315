package op

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Every input has an outcome: one that satisfies the schema reaches the operation, and any other is Invalid.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a"}`, `{"id":"a","limit":"5","fallback":"[\"b\"]","text":null}`,
		`{"id":7,"part":{"title":"x","wave":1}}`, "", "null", "[]",
		`{"id":"a","stories":[{"title":"\ud83d\ude00"}]}`, `{"id":"a","text":"\ud800"}`, "{\"id\":\"\xff\"}",
		`{"id":"a"}}`, `{"id":"a","token":1e30}`,
		`{"id":"a","part":{"title":"x","wave":-1},"part":{"title":"y"}}`, `{"id":"a","labels":{"a":1}}`,
		strings.Repeat(`{"a":`, 50), `{"id":"a","limit":10.0}`,
	} {
		f.Add([]byte(seed))
	}
	var reached *sample
	c := NewCatalogue([]Op{New(sampleSpec, func(_ context.Context, _ identity.Caller, in sample) (sampleOut, error) {
		reached = &in
		return sampleOut{in}, nil
	})})
	f.Fuzz(func(t *testing.T, args []byte) {
		reached = nil
		res, err := c.Call(t.Context(), c.Op("sample"), Call{Input: Parse(args)})
		if err != nil {
			var bad *fault.Error
			if !errors.As(err, &bad) || bad.Kind != fault.Invalid || !utf8.ValidString(bad.Message) || reached != nil {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		if !json.Valid(res.Data) || reached == nil {
			t.Fatalf("%s", res.Data)
		}
		bounded(t, *reached)
	})
}

func bounded(t *testing.T, in sample) {
	parts := in.Stories
	if in.Part != nil {
		parts = append(parts, *in.Part)
	}
	for _, p := range parts {
		if p.Title == "" || utf8.RuneCountInString(p.Title) > 5 || p.Wave < 0 || p.Share < 0 || p.Share > 1 {
			t.Fatalf("out of bounds: %+v", p)
		}
	}
	switch {
	case in.ID == "" || len(in.ID) > 20, utf8.RuneCountInString(in.Text) > 5,
		in.Color != "" && in.Color != "red" && in.Color != "green",
		in.Limit < 0 || in.Limit > 50, in.Token < 0, in.TTL < 0, in.Cost < 0, len(in.Fallback) > 3, len(in.Stories) > 2:
		t.Fatalf("out of bounds: %+v", in)
	}
}
