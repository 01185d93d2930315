package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is the whole application on an empty store, with a clock that the test moves.
type world struct {
	*App
	t       *testing.T
	now     time.Time
	outputs map[string]*jsonschema.Schema
}

func each(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, Schema(), func(t *testing.T, db *store.DB) {
		w := &world{t: t, now: t0, outputs: map[string]*jsonschema.Schema{}}
		var mu sync.Mutex
		made := 0
		w.App = New(db, Ports{Now: func() time.Time { return w.now }, NewID: func() string {
			mu.Lock()
			defer mu.Unlock()
			made++
			return fmt.Sprintf("id-%04d", made)
		}})
		w.Catalogue().Now = func() time.Time { return w.now }
		test(t, w)
	})
}

func bound(user, program string) identity.Caller {
	return identity.Caller{User: user, Program: program, KeyID: "the-same-key-id", Kind: identity.Agent}
}

func human(user string) identity.Caller {
	return identity.Caller{User: user, KeyID: "the-same-key-id", Kind: identity.Human}
}

// call calls an operation by its name, as a transport does, and holds what it
// answers to its published schema.
func (w *world) call(c identity.Caller, name string, args map[string]any) (json.RawMessage, error) {
	w.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	o := w.Catalogue().Op(name)
	if o == nil {
		w.t.Fatalf("there is no operation %s", name)
	}
	res, err := w.Catalogue().Call(w.t.Context(), o, op.Call{Caller: c, Input: op.Parse(text), Transport: "mcp"})
	if err != nil {
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind == fault.Internal {
			w.t.Errorf("%s %s: %T %v", name, text, err, err)
		}
		return nil, err
	}
	w.fits(o, res.Data)
	return res.Data, nil
}

// must returns the output of a call, which must succeed.
func (w *world) must(c identity.Caller, name string, args map[string]any) map[string]any {
	w.t.Helper()
	data, err := w.call(c, name, args)
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) fits(o *op.Op, data json.RawMessage) {
	w.t.Helper()
	s := w.outputs[o.Name]
	if s == nil {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(o.Output))
		c := jsonschema.NewCompiler()
		if err == nil {
			err = c.AddResource("mem:///"+o.Name, doc)
		}
		if err == nil {
			s, err = c.Compile("mem:///" + o.Name)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.outputs[o.Name] = s
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		w.t.Errorf("%s answers %s, which its schema refuses: %v", o.Name, data, err)
	}
}
