package attack

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type args = map[string]any

// scene is a user with two programs, two unbound keys and a human, who call over one transport.
type scene struct {
	*testing.T
	hub   *hubtest.Hub
	clock *domaintest.Clock
	// over is the transport: "REST" or "MCP".
	over                             string
	alpha, beta, loose, drift, human string
}

// each runs an attack over both transports on both stores.
func each(t *testing.T, attack func(*scene)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		clock := &domaintest.Clock{}
		hub := hubtest.New(t, db, hubtest.Options{Now: clock.Now, Waits: &op.Waits{}})
		for _, over := range []string{"REST", "MCP"} {
			t.Run(over, func(t *testing.T) {
				user := "victim-" + strings.ToLower(over)
				attack(&scene{T: t, hub: hub, clock: clock, over: over,
					alpha: hub.Agent(user, "alpha"), beta: hub.Agent(user, "beta"), human: hub.Human(user),
					loose: hub.Key(user, keys.CreateInput{}), drift: hub.Key(user, keys.CreateInput{})})
			})
		}
	})
}

// call calls an operation and returns its output, or its fault.
func (s *scene) call(key, name string, in args) (args, *fault.Error) {
	s.Helper()
	o := s.hub.Catalogue.Op(name)
	if o == nil {
		s.Fatalf("no operation %s", name)
	}
	s.clock.Pass(time.Second)
	var text json.RawMessage
	var code, message string
	if s.over == "MCP" && !o.RESTOnly {
		a := s.hub.Tool(key, "/mcp?toolsets=all", name, in)
		text = a.Structured
		if a.IsError {
			code, message = a.Fault().Code, a.Fault().Message
		}
	} else {
		a := s.hub.Op(key, o, in)
		text, code, message = a.Data(), a.Fault().Code, a.Fault().Message
	}
	if code != "" {
		kind, ok := fault.ParseCode(code)
		if !ok {
			s.Fatalf("%s: unknown code %s", name, code)
		}
		return nil, &fault.Error{Kind: kind, Message: message}
	}
	var out args
	if err := json.Unmarshal(text, &out); err != nil {
		s.Fatalf("%s: %v: %s", name, err, text)
	}
	return out, nil
}

// ok calls an operation that must succeed.
func (s *scene) ok(key, name string, in args) args {
	s.Helper()
	out, f := s.call(key, name, in)
	if f != nil {
		s.Fatalf("%s %v over %s: %v", name, in, s.over, f)
	}
	return out
}

// refused calls an operation that must fail with a kind of fault.
func (s *scene) refused(kind fault.Kind, key, name string, in args) {
	s.Helper()
	out, f := s.call(key, name, in)
	switch {
	case f == nil:
		s.Errorf("%s %v over %s: succeeded with %v, want %v", name, in, s.over, out, kind)
	case f.Kind != kind:
		s.Errorf("%s %v over %s: got %v, want %v", name, in, s.over, f, kind)
	}
}
