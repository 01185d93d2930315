package hubtest_test

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
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type args = map[string]any

// everything is the endpoint that serves all toolsets.
const everything = "/mcp?toolsets=all"

func TestACallMeansTheSameOverBothTransports(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		overREST, overMCP := newSide(t, db, "rest"), newSide(t, db, "mcp")
		for i, s := range conversation {
			o := overREST.hub.Catalogue.Op(s.op)
			if o == nil {
				t.Fatalf("step %d: there is no operation %s", i, s.op)
			}
			a := overREST.rest(t, o, s)
			b := overMCP.rest
			if !o.RESTOnly {
				b = overMCP.mcp
			}
			if got := b(t, o, s); got != a {
				t.Errorf("step %d: %s %v:\nREST %s\nMCP  %s", i, s.op, s.args, a, got)
			}
			if !strings.HasPrefix(a, s.fault+" ") {
				t.Errorf("step %d: %s %v: got %s, want %q", i, s.op, s.args, a, s.fault)
			}
		}
	})
}

func TestTheConversationUsesEveryOperationWellAndBadly(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	for _, o := range hub.Catalogue.Ops() {
		well, badly := false, false
		for _, s := range conversation {
			well = well || (s.op == o.Name && s.fault == "")
			badly = badly || (s.op == o.Name && s.fault != "")
		}
		if !well || !badly {
			t.Errorf("%s: the conversation has it well: %t, badly: %t; add steps", o.Name, well, badly)
		}
	}
}

func TestWhatIsForRESTOnlyIsNoTool(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	human := hub.Human("u")
	n := 0
	for _, o := range hub.Catalogue.Ops() {
		if !o.RESTOnly {
			continue
		}
		n++
		for _, path := range []string{everything, "/mcp/x/" + o.Toolset} {
			if a := hub.Tool(human, path, o.Name, args{}); a.Err == nil || a.Err.Code != -32602 || !strings.Contains(a.Err.Message, o.Name) {
				t.Errorf("%s on %s: got %s, want the protocol's error that names it", o.Name, path, a.Answer)
			}
		}
	}
	if n == 0 {
		t.Error("the catalogue has no operation for REST only; is the mark gone?")
	}
}

// side is one of two users who have the same conversation. Ids and times are the
// same for both.
type side struct {
	hub   *hubtest.Hub
	clock *hubtest.Clock
	keys  map[string]string
	saved map[string]any
	seen  map[string]string
}

func newSide(t *testing.T, db *store.DB, user string) *side {
	t.Helper()
	s := &side{clock: hubtest.NewClock(), keys: map[string]string{}, saved: map[string]any{}, seen: map[string]string{}}
	n := 0
	s.hub = hubtest.New(t, db, hubtest.Options{Now: s.clock.Now, NewID: func() string {
		n++
		return fmt.Sprintf("%08d-0000-7000-8000-000000000000", n)
	}})
	s.keys[""] = s.hub.Agent(user, "alpha")
	s.clock.Add(time.Second)
	s.keys["human"] = s.hub.Human(user)
	return s
}

func (s *side) rest(t *testing.T, o *op.Op, st step) string {
	t.Helper()
	s.tick()
	a := s.hub.Op(s.keys[st.who], o, s.fill(st.args).(args))
	s.hub.Settle()
	if st.fault != "" {
		return s.told(t, a.Fault(), a)
	}
	if want := 200 + map[bool]int{true: 1}[o.Creates]; a.Status != want {
		t.Errorf("%s: got %s, want the status %d", st.op, a, want)
	}
	return s.made(t, st, a.Data())
}

func (s *side) mcp(t *testing.T, o *op.Op, st step) string {
	t.Helper()
	s.tick()
	a := s.hub.Tool(s.keys[st.who], everything, o.Name, s.fill(st.args))
	s.hub.Settle()
	if a.Status != 200 || a.Err != nil || len(a.Texts) == 0 || a.IsError != (st.fault != "") {
		t.Errorf("%s: got %s, want a result with text, isError %t", st.op, a.Answer, st.fault != "")
		return ""
	}
	if st.fault != "" {
		f := a.Fault()
		if !strings.HasPrefix(a.Texts[0], f.Code+": "+f.Message) {
			t.Errorf("%s: the text %q does not tell the fault %+v", st.op, a.Texts[0], f)
		}
		return s.told(t, f, a.Answer)
	}
	if len(a.Texts) != 1 || !reflect.DeepEqual(decode(t, []byte(a.Texts[0])), decode(t, a.Structured)) {
		t.Errorf("%s: the text %q is not the structured content %s", st.op, a.Texts, a.Structured)
	}
	return s.made(t, st, a.Structured)
}

// tick makes each step later than the one before.
func (s *side) tick() { s.clock.Add(time.Second) }

func (s *side) told(t *testing.T, e rest.Error, a hubtest.Answer) string {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if e.Message == "" || e.Details == nil {
		t.Errorf("got %s, want a fault with a message and details", a)
	}
	return e.Code + " " + s.plain(string(text))
}

func (s *side) made(t *testing.T, st step, data []byte) string {
	t.Helper()
	m, ok := decode(t, data).(map[string]any)
	if !ok {
		t.Errorf("%s: got %s, want an object", st.op, data)
		return ""
	}
	if field, as, ok := strings.Cut(st.save, " as "); ok {
		if s.saved[as] = m[field]; m[field] == nil {
			t.Fatalf("%s: %s has no %s", st.op, data, field)
		}
	}
	text, err := json.Marshal(m) // names in order
	if err != nil {
		t.Fatal(err)
	}
	return " " + s.plain(string(text))
}

// fill puts what was saved in the place of its name.
func (s *side) fill(v any) any {
	switch x := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(x, "$"); ok {
			return s.saved[name]
		}
	case []string:
		out := []any{}
		for _, e := range x {
			out = append(out, s.fill(e))
		}
		return out
	case args:
		out := args{}
		for name, e := range x {
			out[name] = s.fill(e)
		}
		return out
	}
	return v
}

var secrets = regexp.MustCompile(`parley_[a-z2-7]+_[a-z2-7]{52}|[0-9a-f]{64}|key:[0-9a-f]{12}|eyJ[A-Za-z0-9_-]{20,}|\d{4}-\d\d-\d\d_[a-z0-9-]+_[a-z0-9]{6}`)

// plain names secrets, their hashes and cursors by the order in which they came.
func (s *side) plain(text string) string {
	return secrets.ReplaceAllStringFunc(text, func(secret string) string {
		if s.seen[secret] == "" {
			s.seen[secret] = fmt.Sprintf("secret%d", len(s.seen))
		}
		return s.seen[secret]
	})
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
