package op

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

func TestOnlyPermittedCallersMayCall(t *testing.T) {
	t.Parallel()
	agent := func(scopes ...string) identity.Caller { return identity.Caller{Kind: identity.Agent, Scopes: scopes} }
	human := func(scopes ...string) identity.Caller { return identity.Caller{Kind: identity.Human, Scopes: scopes} }
	readOnly := func(c identity.Caller) identity.Caller { c.ReadOnly = true; return c }
	type answers struct{ read, consume, write, destroy bool }
	all, reads, none := answers{true, true, true, true}, answers{true, true, false, false}, answers{}
	for _, c := range []struct {
		name                   string
		caller                 identity.Caller
		anyone, humans, admins answers
	}{
		{"an agent", agent(), all, none, none},
		{"an agent of no kind", identity.Caller{}, all, none, none},
		{"an agent that reads", agent("read"), reads, none, none},
		{"an agent that writes", agent("write"), all, none, none},
		{"an agent that reads and writes", agent("read", "write"), all, none, none},
		{"an agent of the toolset", agent("set"), all, none, none},
		{"an agent of another toolset", agent("relay"), none, none, none},
		{"an agent of both", agent("relay", "set"), all, none, none},
		{"an agent that reads the toolset", agent("read", "set"), reads, none, none},
		{"an agent that reads another", agent("read", "relay"), none, none, none},
		{"an admin", agent("admin"), all, none, all},
		{"an admin that reads", agent("admin", "read"), reads, none, reads},
		{"an admin of another toolset", agent("admin", "relay"), none, none, none},
		{"an agent, read-only", readOnly(agent()), reads, none, none},
		{"an agent that writes, read-only", readOnly(agent("write")), reads, none, none},
		{"an admin, read-only", readOnly(agent("admin")), reads, none, reads},
		{"a human", human(), all, all, all},
		{"a human that reads", human("read"), reads, reads, reads},
		{"a human, read-only", readOnly(human()), reads, reads, reads},
		{"a human of another toolset", human("relay"), none, none, none},
	} {
		for audience, want := range map[Audience]answers{Anyone: c.anyone, Humans: c.humans, Admins: c.admins} {
			for effect, ok := range map[Effect]bool{
				Read:    want.read,
				Consume: want.consume,
				Write:   want.write,
				Destroy: want.destroy,
			} {
				o := Op{Spec: spec(func(s *Spec) { s.Effect, s.For = effect, audience })}
				err := o.MayCall(c.caller)
				if ok != (err == nil) || (err != nil && !fault.Is(err, fault.Forbidden)) {
					t.Errorf("%s, effect %d, audience %d: %v", c.name, effect, audience, err)
				}
			}
		}
	}
}

func TestARefusalGivesItsReason(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		caller identity.Caller
		change func(*Spec)
	}{
		"this key may not use the toolset set; its scopes are relay": {
			identity.Caller{Scopes: []string{"relay"}}, func(*Spec) {},
		},
		"sample changes data, and this key or endpoint is read-only": {identity.Caller{ReadOnly: true}, func(*Spec) {}},
		"sample is for a human: use a key of the kind human": {
			identity.Caller{}, func(s *Spec) { s.For = Humans },
		},
		"sample is for a human's key or one with the scope admin": {
			identity.Caller{}, func(s *Spec) { s.For = Admins },
		},
	} {
		o := New(spec(c.change), echo)
		if err := o.MayCall(c.caller); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestACallerIsAuthorisedBeforeItsInputIsRead(t *testing.T) {
	t.Parallel()
	called := false
	_, err := logged(
		t,
		identity.Caller{ReadOnly: true},
		`nonsense`,
		func(context.Context, identity.Caller, sample) (sampleOut, error) {
			called = true
			return sampleOut{}, nil
		},
	)
	if !fault.Is(err, fault.Forbidden) || called {
		t.Errorf("%v, called %v", err, called)
	}
	_, err = logged(t, identity.Caller{}, `{}`, func(context.Context, identity.Caller, sample) (sampleOut, error) {
		called = true
		return sampleOut{}, nil
	})
	if !fault.Is(err, fault.Invalid) || called {
		t.Errorf("%v, called %v", err, called)
	}
}

func TestAnOperationReceivesTheVerifiedCaller(t *testing.T) {
	t.Parallel()
	who := identity.Caller{User: "u1", Program: "alpha", KeyID: "k"}
	_, err := logged(t, who, `{"id":"a"}`, func(_ context.Context, c identity.Caller, in sample) (sampleOut, error) {
		if c.User != "u1" || c.Program != "alpha" || c.KeyID != "k" || in.ID != "a" {
			t.Errorf("%+v, %+v", c, in)
		}
		return sampleOut{}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAPanicIsInternalHiddenAndLogged(t *testing.T) {
	t.Parallel()
	log, err := logged(
		t,
		identity.Caller{User: "u1"},
		`{"id":"a"}`,
		func(context.Context, identity.Caller, sample) (sampleOut, error) {
			panic("the vault is open")
		},
	)
	f := fault.From(err)
	if f.Kind != fault.Internal || strings.Contains(f.Public(), "vault") || strings.Contains(f.Message, "vault") {
		t.Errorf("%v, public %q", f.Kind, f.Public())
	}
	for _, want := range []string{`"level":"ERROR"`, "the vault is open", "call_test.go", `"fault":"INTERNAL"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s: %s", want, log)
		}
	}
}

func TestACallWhoseClientHungUpIsNoErrorInTheLog(t *testing.T) {
	t.Parallel()
	for cause, level := range map[error]string{context.Canceled: "INFO", errors.New("no disk"): "ERROR"} {
		log, err := logged(t, identity.Caller{}, `{"id":"a"}`, func(context.Context, identity.Caller, sample) (sampleOut, error) {
			return sampleOut{}, fault.Wrap(fault.Unavailable, cause, "the call was ended")
		})
		if err == nil || !strings.Contains(log, `"level":"`+level+`"`) || strings.Contains(log, "clientGone") != (level == "INFO") {
			t.Errorf("%v is logged as %s", cause, log)
		}
	}
}

func TestEveryErrorOfACallIsAFault(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]func(context.Context, identity.Caller, sample) (sampleOut, error){
		"an error that is none": func(context.Context, identity.Caller, sample) (sampleOut, error) {
			return sampleOut{}, errors.New("disk /secret is full")
		},
		"an output that is not JSON": func(context.Context, identity.Caller, sample) (sampleOut, error) {
			return sampleOut{sample{Cost: math.NaN()}}, nil
		},
		"an ended context": func(context.Context, identity.Caller, sample) (sampleOut, error) {
			return sampleOut{}, context.Canceled
		},
	} {
		_, err := logged(t, identity.Caller{}, `{"id":"a"}`, fn)
		var f *fault.Error
		if !errors.As(err, &f) {
			t.Errorf("%s: %T %v", name, err, err)
		} else if strings.Contains(f.Public(), "secret") {
			t.Errorf("%s: %q", name, f.Public())
		}
	}
}

func TestACallWritesOneLineWithoutItsInput(t *testing.T) {
	t.Parallel()
	caller := identity.Caller{User: "u1", Program: "alpha", KeyID: "keyid", Scopes: []string{"write"}}
	fails := func(k fault.Kind) func(context.Context, identity.Caller, sample) (sampleOut, error) {
		return func(context.Context, identity.Caller, sample) (sampleOut, error) {
			return sampleOut{}, fault.New(k, "no")
		}
	}
	for name, c := range map[string]struct {
		args  string
		fn    func(context.Context, identity.Caller, sample) (sampleOut, error)
		fault string
	}{
		"a success":              {`{"id":"hush","text":"hush"}`, echo, ""},
		"an unknown field":       {`{"id":"a","hush":"hush"}`, echo, "INVALID_ARGUMENT"},
		"a value not allowed":    {`{"id":"a","color":"hush"}`, echo, "INVALID_ARGUMENT"},
		"not JSON":               {`hush`, echo, "INVALID_ARGUMENT"},
		"not UTF-8":              {"{\"id\":\"hush\xff\"}", echo, "INVALID_ARGUMENT"},
		"mended":                 {`{"id":"a","fallback":"hush"}`, echo, ""},
		"not found":              {`{"id":"hush"}`, fails(fault.NotFound), "NOT_FOUND"},
		"an unavailable service": {`{"id":"hush"}`, fails(fault.Unavailable), "UNAVAILABLE"},
	} {
		log, err := logged(t, caller, c.args, c.fn)
		if (err != nil) != (c.fault != "") || strings.Count(log, "\n") != 1 || strings.Contains(log, "hush") {
			t.Errorf("%s: %v, the log is %s", name, err, log)
		}
		var line map[string]any
		if json.Unmarshal([]byte(log), &line) != nil || line["op"] != "sample" || line["user"] != "u1" ||
			line["program"] != "alpha" || line["keyId"] != "keyid" ||
			line["transport"] != "mcp" || line["requestId"] != "r1" || line["durationMs"] != 1000.0 ||
			(c.fault != "") != (line["fault"] == c.fault) {
			t.Errorf("%s: %s", name, log)
		}
	}
}
