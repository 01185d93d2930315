package catalogue

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/op/optest"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// everything is the endpoint that serves all toolsets.
const everything = "/mcp?toolsets=all"

// transport is how a person calls.
type transport string

const (
	overREST transport = "REST"
	overMCP  transport = "MCP"
)

// city is a hub with a clock, and a counter of the people who use it.
type city struct {
	hub   *hubtest.Hub
	clock *domaintest.Clock
	db    *store.DB
	name  string
	met   int
}

// newCity is a hub over a store. Its name begins those of its users, so that cities can share a
// store.
func newCity(t *testing.T, db *store.DB, name string) *city {
	t.Helper()
	c := &city{clock: &domaintest.Clock{}, db: db, name: name}
	c.hub = hubtest.New(t, db, hubtest.Options{Now: c.clock.Now})
	return c
}

// each runs a suite on both stores, toolset by toolset at the same time.
func each(t *testing.T, suite func(*testing.T, *store.DB, set)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		t.Run("toolsets", func(t *testing.T) { eachSet(t, func(t *testing.T, s set) { suite(t, db, s) }) })
	})
}

// set is the operations of a toolset.
type set struct {
	name string
	ops  []*op.Op
}

func eachSet(t *testing.T, suite func(*testing.T, set)) {
	t.Helper()
	c := app.New(nil, app.Ports{}).Catalogue()
	for _, name := range c.Toolsets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set{name: name}
			for _, o := range c.Ops() {
				if o.Toolset == name {
					s.ops = append(s.ops, o)
				}
			}
			suite(t, s)
		})
	}
}

// person is a user who calls over one transport, with a key for each role.
type person struct {
	*city
	user string
	by   transport
	keys map[op.Role]string
}

// newcomer is a user without anything but the keys that it will use.
func (c *city) newcomer(by transport) *person {
	c.met++
	return &person{city: c, user: fmt.Sprintf("%s-%d", c.name, c.met), by: by, keys: map[op.Role]string{}}
}

func (p *person) script() *optest.Script {
	return &optest.Script{Catalogue: p.hub.Catalogue, Caller: p}
}

func (p *person) key(as op.Role) string {
	if p.keys[as] == "" {
		in := keys.CreateInput{Program: string(as)}
		switch as {
		case op.Alpha:
			in.Program = "alpha"
		case op.Human:
			in = keys.CreateInput{Kind: identity.Human}
		case op.Unbound:
			in.Program = ""
		}
		p.keys[as] = p.hub.Key(p.user, in)
	}
	return p.keys[as]
}

// Pass implements optest.Caller.
func (p *person) Pass(d time.Duration) { p.clock.Pass(d) }

// Call implements optest.Caller.
func (p *person) Call(t testing.TB, o *op.Op, as op.Role, in op.In) (json.RawMessage, error) {
	t.Helper()
	key := p.key(as)
	p.clock.Pass(time.Second) // so that calls have an order
	if p.by == overMCP && !o.RESTOnly {
		return toolOutcome(t, o, p.hub.Tool(key, everything, o.Name, in))
	}
	return outcome(t, o, p.hub.Op(key, o, in))
}

// outcome is the output or fault of a call over REST. It fails the test where the status is another.
func outcome(t testing.TB, o *op.Op, a hubtest.Answer) (json.RawMessage, error) {
	t.Helper()
	if f := a.Fault(); f.Code != "" {
		err := faultOf(t, f)
		if a.Status != err.Kind.HTTP() {
			t.Errorf("%s: got %s, want the status %d", o.Name, a, err.Kind.HTTP())
		}
		return nil, err
	}
	want := 200
	if o.Creates {
		want = 201
	}
	if a.Status != want {
		t.Errorf("%s: got %s, want the status %d", o.Name, a, want)
	}
	return a.Data(), nil
}

// toolOutcome is the output or fault of a tool. Its text must say the same as its structured content.
func toolOutcome(t testing.TB, o *op.Op, a hubtest.ToolAnswer) (json.RawMessage, error) {
	t.Helper()
	if a.Status != 200 || a.Err != nil || len(a.Texts) == 0 {
		t.Errorf("%s: got %s, want a result with text", o.Name, a.Answer)
		return nil, fault.New(fault.Internal, "no result")
	}
	if a.IsError {
		f := a.Fault()
		if !strings.HasPrefix(a.Texts[0], f.Code+": "+f.Message) {
			t.Errorf("%s: the text %q does not tell the fault %+v", o.Name, a.Texts[0], f)
		}
		return nil, faultOf(t, f)
	}
	if !reflect.DeepEqual(decode(t, []byte(a.Texts[0])), decode(t, a.Structured)) {
		t.Errorf("%s: the text %q is not the structured content %s", o.Name, a.Texts, a.Structured)
	}
	return a.Structured, nil
}

func faultOf(t testing.TB, e rest.Error) *fault.Error {
	t.Helper()
	kind, ok := fault.ParseCode(e.Code)
	if !ok || e.Message == "" || e.Details == nil {
		t.Errorf("got %+v, want a fault with a known code, a message and details", e)
	}
	return &fault.Error{Kind: kind, Message: e.Message, Problems: e.Details}
}

func decode(t testing.TB, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// said is an outcome as text in which equal outcomes are equal.
func said(t testing.TB, out json.RawMessage, err error) string {
	t.Helper()
	if err != nil {
		f := fault.From(err)
		return fmt.Sprintf("%v %s %v", f.Kind, f.Message, f.Problems)
	}
	text, err := json.Marshal(decode(t, out)) // names in order
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// secret matches texts that no two calls share: keys, ids, hashes and cursors.
var secret = regexp.MustCompile(`parley_[a-z2-7]+_[a-z2-7]{52}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{32}|` +
	`key:[0-9a-f]{12}|eyJ[A-Za-z0-9_-]{20,}|\d{4}-\d\d-\d\d_[A-Za-z0-9-]+_[a-z0-9]{6}`)

// cursor matches a field that leads on from an answer, whose text no two users share.
var cursor = regexp.MustCompile(`"(nextCursor|next_cursor|cursor|mark)":"[^"]+"`)

// used matches when a key was last used, which is written behind the call at no promised time.
var used = regexp.MustCompile(`,?"lastUsedAt":"[^"]+"`)

// stamp matches a time.
var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// names gives secrets names in the order in which they come.
type names map[string]string

func (n names) plain(text string) string {
	text = used.ReplaceAllString(text, "")
	text = cursor.ReplaceAllString(text, `"$1":"<cursor>"`)
	return secret.ReplaceAllStringFunc(text, func(s string) string {
		if n[s] == "" {
			n[s] = fmt.Sprintf("<%d>", len(n))
		}
		return n[s]
	})
}

// documents are all that is stored of a user, but for the use of keys and the records of calls.
func (c *city) documents(t testing.TB, user string) string {
	t.Helper()
	c.hub.Settle()
	var b strings.Builder
	err := store.NewAdmin(c.db).Walk(t.Context(), user, func(page []store.Raw) error {
		for _, r := range page {
			if strings.HasPrefix(r.Ref.Coll, "ledger") {
				continue
			}
			delete(r.Fields, "lastUsedAt")
			fmt.Fprintf(&b, "%s/%s %v\n", r.Ref.Coll, r.Ref.ID, r.Fields)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
