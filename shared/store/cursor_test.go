package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/fault"
)

type paged struct {
	Status string    `json:"status"`
	Rank   int       `json:"rank"`
	At     time.Time `json:"at"`
}

var pagedItems = Collection[paged]{
	Name: "paged", Indexes: []string{"status,rank desc,at", "rank desc,at"}, AllUsers: []string{"at"},
}

var pagedQuery = Query{Where: []Cond{Eq("status", "open")}, Order: []string{"rank desc", "at"}, Limit: 10}

func planned(t testing.TB, q Query, user string, group bool) Plan {
	t.Helper()
	coll := pagedItems.Name
	if group {
		coll = ""
	}
	p, err := q.plan(pagedItems.Def(), user, coll, group)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func lastOf(user string, values Fields) Raw {
	return Raw{Ref: Ref{User: user, Coll: "paged", ID: "last-1"}, Fields: values}
}

func TestACursorRestoresItsPosition(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	for name, values := range map[string]Fields{
		"plain":         {"rank": int64(2), "at": at},
		"a missing one": {"rank": int64(-2)},
		"null":          {"rank": nil, "at": nil},
		"other types":   {"rank": "text: with \x00 and 😀", "at": true},
		"a part":        {"rank": 0.1, "at": -1e300},
		"an old time":   {"rank": false, "at": time.Unix(-1e9, 0).UTC()},
		"the empty":     {"rank": "", "at": ""},
	} {
		p := planned(t, pagedQuery, "u", false)
		pos, err := p.position(p.cursor(lastOf("u", values)))
		if err != nil || pos.Ref != (Ref{User: "u", Coll: "paged", ID: "last-1"}) || len(pos.Values) != 2 {
			t.Errorf("%s: %+v, %v", name, pos, err)
			continue
		}
		for i, f := range []string{"rank", "at"} {
			if want := values[f]; rankOf(want) != rankOf(pos.Values[i]) || Compare(want, pos.Values[i]) != 0 {
				t.Errorf("%s: %v came back as %v", name, want, pos.Values[i])
			}
		}
	}
}

func TestACursorOfAllUsersNamesTheDocument(t *testing.T) {
	t.Parallel()
	p := planned(t, Query{Order: []string{"at"}, Limit: 5}, "", true)
	pos, err := p.position(p.cursor(lastOf("someone", Fields{"at": time.Unix(5, 0).UTC()})))
	if err != nil || pos.Ref != (Ref{User: "someone", Coll: "paged", ID: "last-1"}) {
		t.Errorf("%+v, %v", pos, err)
	}
}

func TestACursorBelongsToItsQuery(t *testing.T) {
	t.Parallel()
	made := planned(t, pagedQuery, "u", false)
	cursor := made.cursor(lastOf("u", Fields{"rank": int64(1), "at": time.Unix(1, 0)}))
	other := pagedQuery
	other.Where = []Cond{Eq("status", "closed")}
	unfiltered := pagedQuery
	unfiltered.Where = nil
	for name, p := range map[string]Plan{
		"another user":   planned(t, pagedQuery, "v", false),
		"another filter": planned(t, other, "u", false),
		"no filter":      planned(t, unfiltered, "u", false),
	} {
		_, err := p.position(cursor)
		refusedCursor(t, name, err)
	}
	bigger := pagedQuery
	bigger.Limit = 3
	if p := planned(t, bigger, "u", false); second(p.position(cursor)) != nil {
		t.Error("another limit is another query")
	}
}

func second[T any](_ T, err error) error { return err }

// refusedCursor checks for an Invalid fault of the field cursor.
func refusedCursor(t testing.TB, name string, err error) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Problems) != 1 || f.Problems[0].Path != "cursor" {
		t.Errorf("%s: %v", name, err)
	}
}

// forge returns a cursor of the plan with forged contents.
func forge(p *Plan, change func(*cursorText)) string {
	text := cursorText{Query: p.fingerprint(), ID: "x", Values: []string{"i1", "t5"}}
	change(&text)
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func TestAForgedCursorIsRefused(t *testing.T) {
	t.Parallel()
	p := planned(t, pagedQuery, "u", false)
	for name, change := range map[string]func(*cursorText){
		"another mark":         func(c *cursorText) { c.Query = "x" },
		"no id":                func(c *cursorText) { c.ID = "" },
		"an id with a slash":   func(c *cursorText) { c.ID = "a/b" },
		"an id of Firestore":   func(c *cursorText) { c.ID = "__id__" },
		"too few values":       func(c *cursorText) { c.Values = c.Values[:1] },
		"too many values":      func(c *cursorText) { c.Values = append(c.Values, "n") },
		"an unknown kind":      func(c *cursorText) { c.Values[0] = "x1" },
		"an empty value":       func(c *cursorText) { c.Values[0] = "" },
		"no number":            func(c *cursorText) { c.Values[0] = "ione" },
		"a number with a tail": func(c *cursorText) { c.Values[0] = "i1one" },
		"past every number":    func(c *cursorText) { c.Values[0] = "i99999999999999999999" },
		"not a number":         func(c *cursorText) { c.Values[0] = "fNaN" },
		"past every time":      func(c *cursorText) { c.Values[1] = "t9223372036854775807" },
		"before every time":    func(c *cursorText) { c.Values[1] = "t-9223372036854775808" },
	} {
		_, err := p.position(forge(&p, change))
		refusedCursor(t, name, err)
	}
	group := planned(t, Query{Order: []string{"at"}, Limit: 5}, "", true)
	for name, change := range map[string]func(*cursorText){
		"no user":                func(c *cursorText) { c.Values, c.Coll = c.Values[:1], "paged" },
		"another collection":     func(c *cursorText) { c.Values, c.User, c.Coll = c.Values[:1], "u", "apiKeys" },
		"a deeper collection":    func(c *cursorText) { c.Values, c.User, c.Coll = c.Values[:1], "u", "paged/x/paged" },
		"a user with a slash":    func(c *cursorText) { c.Values, c.User, c.Coll = c.Values[:1], "u/v", "paged" },
		"a cursor of one user's": func(c *cursorText) { c.Values = c.Values[:1] },
	} {
		_, err := group.position(forge(&group, change))
		refusedCursor(t, name, err)
	}
}

// Any text is a position that the drivers can use, or is refused.
func FuzzCursor(f *testing.F) {
	p := planned(f, pagedQuery, "u", false)
	f.Add(p.cursor(lastOf("u", Fields{"rank": int64(1), "at": time.Unix(1, 0)})), false)
	f.Add(forge(&p, func(c *cursorText) { c.Values = []string{"fInf", "sx"} }), false)
	f.Add(forge(&p, func(c *cursorText) { c.Values = []string{"b", "t-1"} }), true)
	f.Add(`{"q":"x"}`, true)
	f.Add("", false)
	f.Add(strings.Repeat("A", 3000), false)
	f.Fuzz(func(t *testing.T, text string, forged bool) {
		cursor := text
		if forged { // past the mark, which anyone can compute
			cursor = forge(&p, func(c *cursorText) { c.ID = text; c.Values = []string{text, "n"} })
		}
		pos, err := p.position(cursor)
		if err != nil {
			refusedCursor(t, text, err)
			return
		}
		if len(pos.Values) != 2 || pos.Ref.User != "u" || pos.Ref.Coll != "paged" || checkID(pos.Ref.ID) != nil {
			t.Fatalf("%+v", pos)
		}
		for _, v := range pos.Values {
			at, ok := v.(time.Time)
			if rankOf(v) == 5 || (ok && (at.Year() < 1 || at.Year() > 9999)) {
				t.Fatalf("no driver holds %v", v)
			}
		}
	})
}
