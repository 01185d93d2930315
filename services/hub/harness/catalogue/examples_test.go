package catalogue

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/op/optest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestEveryExampleHasTheOutcomeOfItsSpecOverBothTransports(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB, set set) {
		// Each transport has a hub, and with it a clock, of its own.
		hubs := map[transport]*testHub{
			overREST: newHub(t, db, "here-"+set.name), overMCP: newHub(t, db, "there-"+set.name),
		}
		n := 0
		for _, o := range set.ops {
			fits := schema(t, o.Name, o.Output)
			for _, e := range set.examples(o) {
				outcomes := map[transport]string{}
				for _, by := range set.transports(n) {
					outcomes[by] = example(t, hubs[by].newUser(by), o, e, fits)
				}
				n++
				if a, b := outcomes[overREST], outcomes[overMCP]; len(outcomes) == 2 && a != b {
					t.Errorf("%s:\nREST %s\nMCP  %s", optest.Title(o, e.Name), a, b)
				}
				ahead := hubs[overMCP].clock.Now().Sub(hubs[overREST].clock.Now())
				hubs[overREST].clock.Pass(max(ahead, 0))
				hubs[overMCP].clock.Pass(max(-ahead, 0))
			}
		}
	})
}

// example runs an example and returns its outcome as text. It fails the test if the spec has another outcome.
func example(t *testing.T, p *user, o *op.Op, e op.Example, fits *jsonschema.Schema) string {
	t.Helper()
	s := p.script()
	s.Prepare(t, e.Given)
	s.Pass(e.Pass)
	out, err := p.Call(t, o, e.As, s.Fill(e.In))
	checkOutcome(t, p, o, e, fits, out, err)
	return names{}.plain(outcomeText(t, out, err))
}

// checkOutcome checks that an example's call had the outcome of its spec.
func checkOutcome(t *testing.T, p *user, o *op.Op, e op.Example, fits *jsonschema.Schema, out []byte, err error) {
	t.Helper()
	switch {
	case (err == nil) != (e.Fault == fault.Internal), err != nil && fault.Of(err) != e.Fault:
		t.Errorf("%s over %s: got %s, %v; want %v", optest.Title(o, e.Name), p.by, out, err, e.Fault)
	case err == nil:
		if err := fits.Validate(decode(t, out)); err != nil {
			t.Errorf("%s answers %s, which its schema refuses: %v", optest.Title(o, e.Name), out, err)
		}
	}
}

// The generated documents show the sample of each operation.
func TestTheSampleOfADocumentFitsThePublishedInput(t *testing.T) {
	t.Parallel()
	for _, o := range app.New(nil, app.Ports{}).Catalogue().Ops() {
		text, err := json.Marshal(o.Sample())
		if err != nil {
			t.Fatal(err)
		}
		if err := schema(t, o.Name, o.Input).Validate(decode(t, text)); err != nil {
			t.Errorf("%s has the sample %s, which its schema refuses: %v", o.Name, text, err)
		}
	}
}

// schema compiles the published schema of an operation's input or output.
func schema(t *testing.T, name string, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	c := jsonschema.NewCompiler()
	if err == nil {
		err = c.AddResource("mem:///"+name, doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnOperationThatIsRESTOnlyIsNoTool(t *testing.T) {
	t.Parallel()
	c := newHub(t, storetest.SQLite(t, app.Schema()), "user")
	key, n := c.newUser(overMCP).key(op.Human), 0
	for _, o := range c.hub.Catalogue.Ops() {
		if !o.RESTOnly {
			continue
		}
		n++
		for _, path := range []string{everything, "/mcp/x/" + o.Toolset} {
			a := c.hub.Tool(key, path, o.Name, op.In{})
			if a.Err == nil || a.Err.Code != -32602 || !strings.Contains(a.Err.Message, o.Name) {
				t.Errorf("%s on %s: got %s, want the protocol's error that names it", o.Name, path, a.Answer)
			}
		}
	}
	if n == 0 {
		t.Error("no operation is REST only, so nothing was tested")
	}
}
