package op

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// sample has a field of each kind that an input may have.
type sample struct {
	Idempotency
	ID       string            `json:"id" allow:"nonempty,max=20,pattern=id"`
	Text     string            `json:"text,omitempty" allow:"max=5"`
	Color    string            `json:"color,omitempty" allow:"enum=red|green,default=red"`
	Limit    int               `json:"limit,omitempty" allow:"min=1,max=50,default=10"`
	Token    int64             `json:"token,omitempty" allow:"min=1"`
	TTL      int64             `json:"ttl,omitempty" allow:"over=0"`
	Cost     float64           `json:"cost,omitempty" allow:"min=0"`
	Peek     *bool             `json:"peek,omitempty"`
	Fallback []string          `json:"fallback,omitempty" allow:"max=3,each=10,pattern=name"`
	Numbers  []int             `json:"numbers,omitempty"`
	Part     *samplePart       `json:"part,omitempty"`
	Stories  []samplePart      `json:"stories,omitempty" allow:"max=2"`
	Labels   map[string]string `json:"labels,omitempty"`
}

type samplePart struct {
	Title string  `json:"title" allow:"nonempty,max=5"`
	Wave  int     `json:"wave,omitempty" allow:"min=0"`
	Share float64 `json:"share,omitempty" allow:"min=0,max=1"`
}

type sampleOut struct {
	Got sample `json:"got"`
}

var sampleSpec = Spec{
	Name:    "sample",
	Title:   "Sample",
	Toolset: "set",
	Route:   "POST /v1/samples/{id}",
	Doc:     "A sample.",
	Effect:  Write,
}

func echo(_ context.Context, _ identity.Caller, in sample) (sampleOut, error) {
	return sampleOut{in}, nil
}

func spec(change func(*Spec)) Spec {
	s := sampleSpec
	change(&s)
	return s
}

var echoes = sync.OnceValue(func() *Catalogue { return NewCatalogue([]Op{New(sampleSpec, echo)}) })

// call calls the sample operation with the arguments.
func call(t testing.TB, args string) (sample, []string, error) {
	t.Helper()
	c := echoes()
	res, err := c.Call(context.Background(), c.Op("sample"), Call{Input: Parse([]byte(args))})
	if err != nil {
		return sample{}, nil, err
	}
	var out sampleOut
	if err := json.Unmarshal(res.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out.Got, res.Coerced, nil
}

// problems returns the messages of an Invalid fault by their paths.
func problems(t testing.TB, err error) map[string]string {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid {
		t.Fatalf("not an Invalid fault: %v", err)
	}
	out := map[string]string{}
	for _, p := range f.Problems {
		out[p.Path] = p.Message
		if !strings.Contains(f.Message, p.Message) || !strings.Contains(f.Message, p.Path) {
			t.Errorf("the message %q leaves out %q", f.Message, p)
		}
	}
	return out
}

// logged runs one call of fn and returns its log.
func logged(
	t *testing.T,
	caller identity.Caller,
	args string,
	fn func(context.Context, identity.Caller, sample) (sampleOut, error),
) (string, error) {
	t.Helper()
	var log bytes.Buffer
	c := NewCatalogue([]Op{New(sampleSpec, fn)})
	c.Log = slog.New(slog.NewJSONHandler(&log, nil))
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.Now = func() time.Time { now = now.Add(time.Second); return now }
	_, err := c.Call(t.Context(), c.Op("sample"), Call{
		Caller:    caller,
		Input:     Parse([]byte(args)),
		Transport: "mcp",
		RequestID: "r1",
	})
	return log.String(), err
}
