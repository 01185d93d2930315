package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
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

// transport is the transport of a user's calls.
type transport string

const (
	overREST transport = "REST"
	overMCP  transport = "MCP"
)

// testHub is a hub with a clock of its own, and a counter of its users.
type testHub struct {
	hub   *hubtest.Hub
	clock *domaintest.Clock
	db    *store.DB
	// prefix begins the names of the users.
	prefix string
	users  int
}

// newHub starts a hub over a store. The names of its users begin with the prefix, so that several hubs can share a
// store.
func newHub(t *testing.T, db *store.DB, prefix string) *testHub {
	t.Helper()
	c := &testHub{clock: &domaintest.Clock{}, db: db, prefix: prefix}
	c.hub = hubtest.New(t, db, hubtest.Options{Now: c.clock.Now, PublicURL: "https://parley.example.org"})
	return c
}

// each runs a suite on both stores, for all toolsets in parallel.
func each(t *testing.T, suite func(*testing.T, *store.DB, set)) {
	t.Helper()
	t.Parallel()
	storetest.EachDriver(t, app.Schema(), func(t *testing.T, open func() store.Driver) {
		db, m := openMirror(t, open)
		t.Run("toolsets", func(t *testing.T) {
			eachSet(t, func(t *testing.T, s set) {
				s.local = m.ReadsLocally()
				suite(t, db, s)
			})
		})
	})
}

// set holds the operations of a toolset.
type set struct {
	name string
	ops  []*op.Op
	// local says that the suite runs on SQLite.
	local bool
}

// examples returns the examples of an operation that a suite runs: all on SQLite. On Firestore, where the suite of budgets
// runs them all, it is one that succeeds, with an id if there is such a one.
func (s set) examples(o *op.Op) []op.Example {
	all, owned := o.Cases().Examples, o.Cases().Owned
	if s.local {
		return all
	}
	succeeds := func(e op.Example) bool { return e.Fault == fault.Internal }
	i := slices.IndexFunc(all, func(e op.Example) bool { return succeeds(e) && takes(e.In, owned) })
	if i < 0 {
		i = max(0, slices.IndexFunc(all, succeeds))
	}
	return all[i : i+1]
}

// transports returns the transports of a suite's n-th case: both on SQLite, and by turns one of them on Firestore, where
// a call takes a hundred times as long. No transport knows the store.
func (s set) transports(n int) []transport {
	both := []transport{overREST, overMCP}
	if s.local {
		return both
	}
	return both[n%2 : n%2+1]
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

// user is a user that calls over one transport, with a key for each role.
type user struct {
	*testHub
	name string
	by   transport
	keys map[op.Role]string
}

// newUser returns a user that has no documents yet; its keys are made when they are first used.
func (c *testHub) newUser(by transport) *user {
	c.users++
	return &user{testHub: c, name: fmt.Sprintf("%s-%d", c.prefix, c.users), by: by, keys: map[op.Role]string{}}
}

func (p *user) script() *optest.Script {
	return &optest.Script{Catalogue: p.hub.Catalogue, Caller: p}
}

func (p *user) key(as op.Role) string {
	if p.keys[as] == "" {
		in := keys.CreateInput{Program: string(as)}
		switch as {
		case op.Device:
			p.keys[as] = p.hub.Device(p.name)
			return p.keys[as]
		case op.Alpha:
			in.Program = "alpha"
		case op.Human:
			in = keys.CreateInput{Kind: identity.Human}
		case op.Unbound:
			in.Program = ""
		}
		p.keys[as] = p.hub.Key(p.name, in)
	}
	return p.keys[as]
}

// Pass implements optest.Caller.
func (p *user) Pass(d time.Duration) { p.clock.Pass(d) }

// Call implements optest.Caller.
func (p *user) Call(t testing.TB, o *op.Op, as op.Role, in op.In) (json.RawMessage, error) {
	t.Helper()
	key := p.key(as)
	p.clock.Pass(time.Second) // so that calls have an order
	if p.by == overMCP && !o.RESTOnly {
		return p.anonymous(toolOutcome(t, o, p.hub.Tool(key, everything, o.Name, in)))
	}
	return p.anonymous(outcome(t, o, p.hub.Op(key, o, in)))
}

// anonymous hides the user's name in an outcome, so that the outcomes of two users can be compared.
func (p *user) anonymous(out json.RawMessage, err error) (json.RawMessage, error) {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		f.Message = strings.ReplaceAll(f.Message, p.name, "USER")
	}
	return json.RawMessage(strings.ReplaceAll(string(out), p.name, "USER")), err
}

// outcome returns the output or fault of a call over REST. It fails the test if the status is not the one of the outcome.
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

// toolOutcome returns the output or fault of a tool call. It fails the test if the text differs from the structured
// content.
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

// outcomeText returns an outcome as text; equal outcomes have equal texts.
func outcomeText(t testing.TB, out json.RawMessage, err error) string {
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

// secret matches texts that differ from call to call: keys, links, codes, ids, hashes and cursors.
var secret = regexp.MustCompile(`(?:parley|link|pair)_[a-z2-7]+_[a-z2-7]{52}|[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}|` +
	`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{32}|` +
	`(?:key|human):[0-9a-f]{12}|eyJ[A-Za-z0-9_-]{20,}|\d{4}-\d\d-\d\d_[A-Za-z0-9-]+_[a-z0-9]{6}`)

// cursor matches a field with a cursor, whose text differs from user to user.
var cursor = regexp.MustCompile(`"(nextCursor|next_cursor|cursor|mark|eventId|since)":"[^"]+"`)

// challenge matches the random part of a ceremony of a passkey, and the name of its user.
var challenge = regexp.MustCompile(`"challenge":"[^"]+"|"userId":"[^"]+","userName"`)

// used matches the time of a key's last use, which is stored at any time after the call.
var used = regexp.MustCompile(`,?"lastUsedAt":"[^"]+"`)

// logged matches the time of an event, which is that of its store.
var logged = regexp.MustCompile(`"at":"[^"]+","change"`)

// stamp matches a time.
var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// names replaces secrets with numbers in the order of their appearance.
type names map[string]string

func (n names) plain(text string) string {
	text = used.ReplaceAllString(text, "")
	text = cursor.ReplaceAllString(text, `"$1":"<cursor>"`)
	text = challenge.ReplaceAllString(text, "CHALLENGE")
	text = logged.ReplaceAllString(text, `"at":"TIME","change"`)
	return secret.ReplaceAllStringFunc(text, func(s string) string {
		if n[s] == "" {
			n[s] = fmt.Sprintf("<%d>", len(n))
		}
		return n[s]
	})
}

// documents returns all documents of a user as text, without the last use of keys and the records of calls.
func (c *testHub) documents(t testing.TB, user string) string {
	t.Helper()
	c.hub.Flush()
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
