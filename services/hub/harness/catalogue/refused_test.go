package catalogue

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

func TestARefusedInputNamesTheFieldAndChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB, set set) {
		c, n := newHub(t, db, set.name), 0
		for _, o := range set.ops {
			for _, r := range o.Cases().Refused {
				title := o.Name + ", refused for " + r.Name
				p := c.newUser(overREST)
				s := p.script()
				s.Prepare(t, r.Given)
				key, in := p.key(r.As), s.FillText(r.In)
				before := c.documents(t, p.name)
				for _, by := range set.transports(n) {
					if by == overREST || o.RESTOnly {
						refusedOverREST(t, title, raw(t, p.hub, key, o, in), r)
					} else {
						refusedOverMCP(t, title, p.hub.RawTool(key, everything, o.Name, in), r)
					}
				}
				n++
				if after := c.documents(t, p.name); after != before {
					t.Errorf("%s changed something:\nbefore %s\nafter  %s", title, before, after)
				}
			}
		}
	})
}

func refusedOverREST(t *testing.T, title string, a hubtest.Answer, r op.Refusal) {
	t.Helper()
	if a.Status != http.StatusBadRequest {
		t.Errorf("%s over REST: got %s, want 400", title, a)
	}
	tells(t, title+" over REST", a.Fault(), r)
}

func refusedOverMCP(t *testing.T, title string, a hubtest.ToolAnswer, r op.Refusal) {
	t.Helper()
	if a.Status != http.StatusOK || !a.IsError || a.Err != nil || len(a.Texts) == 0 {
		t.Fatalf("%s over MCP: got %s, want a result with isError", title, a.Answer)
	}
	tells(t, title+" over MCP", a.Fault(), r)
	// A message that must be word for word is the whole text, without the path.
	whole := a.Texts[0] == "INVALID_ARGUMENT: "+r.Words
	if !whole && !strings.Contains(a.Texts[0], r.Path) || !strings.Contains(a.Texts[0], r.Words) {
		t.Errorf("%s over MCP: the text %q does not say what is wrong", title, a.Texts)
	}
}

// tells checks that a fault names the refused path and has the words of the refusal.
func tells(t *testing.T, title string, f rest.Error, r op.Refusal) {
	t.Helper()
	if f.Code != fault.Invalid.Code() || !strings.Contains(f.Message, r.Words) {
		t.Errorf("%s: got %+v, want INVALID_ARGUMENT that says %q", title, f, r.Words)
	}
	named := func(p fault.Problem) bool { return p.Path == r.Path && strings.Contains(p.Message, r.Words) }
	if !slices.ContainsFunc(f.Details, named) {
		t.Errorf("%s: got the details %+v, want the path %q and %q", title, f.Details, r.Path, r.Words)
	}
}

// raw sends the text of an input over REST: fields of the path go into the path, those of a read into the query, and
// the others form the body, unchanged.
func raw(t *testing.T, hub *hubtest.Hub, key string, o *op.Op, in string) hubtest.Answer {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(in), &fields); err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	text := func(v json.RawMessage) string {
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s
		}
		return string(v)
	}
	method, path := op.Method(o.Route), op.Path(o.Route)
	for _, p := range o.PathParams() {
		path = strings.ReplaceAll(path, "{"+p+"}", url.PathEscape(text(fields[p])))
		delete(fields, p)
	}
	switch {
	case method == http.MethodGet || method == http.MethodDelete && len(fields) > 0:
		q := url.Values{}
		for f, v := range fields {
			q.Set(f, text(v))
		}
		return hub.REST(key, method, path+"?"+q.Encode(), nil)
	case len(o.PathParams()) > 0:
		return hub.REST(key, method, path, fields)
	}
	return hub.REST(key, method, path, in)
}
