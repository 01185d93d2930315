package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/words"
)

// page is a document that is searched. Kind is its kind, Routes are its readers.
var (
	pages = store.Collection[item]{Name: "pages", Text: func(v *item, r store.Ref) store.Text {
		title, body, _ := strings.Cut(v.Body, "\n")
		return store.Text{Kind: v.Kind, ID: r.ID, Title: title, Body: body, At: v.CreatedAt, Programs: []string{v.Status},
			Readers: v.Routes}
	}}
	lines = store.Collection[item]{Name: "pages/*/lines", Text: func(v *item, r store.Ref) store.Text {
		return store.Text{Kind: "line", ID: r.ParentOf(), Body: v.Body, At: v.CreatedAt, Readers: []string{store.Everybody}}
	}}
)

// TextSchema returns the schema of the tests of searches: a collection that is searched, one below it, and one that is
// not.
func TextSchema() *store.Schema {
	return store.NewSchema(store.TextDef(), pages.Def(), lines.Def(), riches.Def())
}

// Say writes a document of [TextSchema] with a text, which everybody may read.
func Say(t *testing.T, u *store.Tenant, id, text string) {
	t.Helper()
	note(t, u, func(tx *store.Tx) {
		pages.Put(tx, id, item{Body: text, Kind: "page", Routes: []string{store.Everybody}, CreatedAt: t0})
	})
}

// Find returns the ids of the documents that a search for a query finds.
func Find(t *testing.T, u *store.Tenant, query string) []string {
	t.Helper()
	ids, _ := search(t, u, query, store.Search{})
	return ids
}

func search(t *testing.T, u *store.Tenant, query string, s store.Search) (ids []string, next string) {
	t.Helper()
	var err error
	if s.Terms, err = words.Parse(query); err != nil {
		t.Fatal(err)
	}
	if s.Limit == 0 {
		s.Limit = 10
	}
	hits, next, err := u.Search(t.Context(), s, everything)
	if err != nil {
		t.Fatal(err)
	}
	ids = []string{}
	for _, h := range hits {
		ids = append(ids, h.Kind+" "+h.Text.ID)
	}
	return ids, next
}

func everything(store.Hit) (bool, error) { return true, nil }

// expect checks the results of searches, by query.
func expect(t *testing.T, u *store.Tenant, s store.Search, want map[string]string) {
	t.Helper()
	for query, ids := range want {
		if got, _ := search(t, u, query, s); strings.Join(got, ", ") != ids {
			t.Errorf("%s: found %v, want %s", query, got, ids)
		}
	}
}

func searches(t *testing.T, db *store.DB) {
	u := db.User("u")
	at := func(i int) time.Time { return t0.Add(time.Duration(i) * time.Minute) }
	note(t, u, func(tx *store.Tx) {
		pages.Create(tx, "a", item{Kind: "page", CreatedAt: at(1), Body: "Fix the parser\nIt fails on quoted words; see follow-up."})
		pages.Put(tx, "b", item{Kind: "page", CreatedAt: at(2), Body: "Größe\nparser words 日本語"})
		lines.Under("a").Create(tx, "1", item{CreatedAt: at(3), Body: "The parsers agree."})
		pages.Put(tx, "none", item{Kind: "page", CreatedAt: at(4), Body: " - \n…"})
		riches.Put(tx, "r", rich{Text: "parser"})
	})
	note(t, db.User("other"), func(tx *store.Tx) {
		pages.Create(tx, "c", item{Kind: "page", CreatedAt: at(5), Body: "parser"})
	})
	failed := errors.New("failed")
	err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		pages.Put(tx, "d", item{Kind: "page", Body: "parser"})
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	err = u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
		pages.Create(tx, "a", item{Kind: "page", Body: "refused"})
		return nil
	})
	if !fault.Is(err, fault.Exists) {
		t.Fatal(err)
	}
	expect(t, u, store.Search{}, map[string]string{
		"parser":               "page b, page a",
		"PARS*":                "line a, page b, page a",
		"pa*":                  "line a, page b, page a",
		"parsers*":             "line a",
		"parser fails":         "page a",
		`"the parser"`:         "page a",
		`"the parser it"`:      "",
		`"quoted words"`:       "page a",
		`"words quoted"`:       "",
		"parser wor*":          "page b, page a",
		"follow-up":            "page a",
		"grosse":               "",
		"große":                "page b",
		"語":                    "page b",
		`"日本" parser`:          "page b",
		"refused":              "",
		"page":                 "",
		"agree":                "line a",
		"parser -fails OR see": "",
	})
	expect(t, db.User("other"), store.Search{}, map[string]string{"parser": "page c", "words": ""})
	expect(t, db.User("third"), store.Search{}, map[string]string{"parser": ""})
}

func searchNarrows(t *testing.T, db *store.DB) {
	u := db.User("u")
	note(t, u, func(tx *store.Tx) {
		for i, p := range []item{
			{Kind: "page", Status: "Alpha", Routes: []string{"alpha", "beta"}},
			{Kind: "page", Status: "beta", Routes: []string{store.Everybody}},
			{Kind: "note", Status: "beta", Routes: []string{"Beta"}},
			{Kind: "note", Status: "alpha"},
		} {
			p.Body, p.CreatedAt = "some words", t0.Add(time.Duration(i)*time.Microsecond)
			pages.Put(tx, number(i), p)
		}
	})
	micro := func(i int) time.Time { return t0.Add(time.Duration(i) * time.Microsecond) }
	for _, c := range []struct {
		s    store.Search
		want string
	}{
		{store.Search{}, "note 003, note 002, page 001, page 000"},
		{store.Search{Kind: "note"}, "note 003, note 002"},
		{store.Search{Kind: "other"}, ""},
		{store.Search{Program: "ALPHA"}, "note 003, page 000"},
		{store.Search{Program: "alpha", Kind: "page"}, "page 000"},
		{store.Search{Reader: "beta"}, "note 002, page 001, page 000"},
		{store.Search{Reader: "Alpha"}, "page 001, page 000"},
		{store.Search{Reader: "gamma"}, "page 001"},
		{store.Search{From: micro(1)}, "note 003, note 002, page 001"},
		{store.Search{To: micro(1)}, "page 001, page 000"},
		{store.Search{From: micro(1), To: micro(2), Kind: "page"}, "page 001"},
		{store.Search{From: micro(2), To: micro(1)}, ""},
	} {
		if got, _ := search(t, u, "words", c.s); strings.Join(got, ", ") != c.want {
			t.Errorf("%+v: found %v, want %s", c.s, got, c.want)
		}
	}
}

func searchPages(t *testing.T, db *store.DB) {
	const all = 120
	u := db.User("u")
	note(t, u, func(tx *store.Tx) {
		for i := range all { // some at the same time
			pages.Put(tx, number(i), item{Kind: "page", Body: "common\n" + strings.Repeat("odd ", i%2),
				CreatedAt: t0.Add(time.Duration(i/7) * time.Second)})
		}
	})
	for _, c := range []struct {
		query       string
		limit, want int
	}{{"common", 7, all}, {"common", 30, all}, {"common odd", 7, all / 2}, {"comm*", store.MaxHits, all}} {
		var got []string
		cursor := ""
		for {
			ids, next := search(t, u, c.query, store.Search{Limit: c.limit, Cursor: cursor})
			if len(ids) > c.limit {
				t.Fatalf("a page of %d", len(ids))
			}
			got = append(got, ids...)
			if cursor = next; next == "" {
				break
			}
		}
		slices.Sort(got)
		if n := len(got); n != c.want || len(slices.Compact(got)) != n {
			t.Errorf("%s by %d: %d documents, want %d: %v", c.query, c.limit, n, c.want, got)
		}
	}
	terms, err := words.Parse("common")
	if err != nil {
		t.Fatal(err)
	}
	odd, seen := func(h store.Hit) (bool, error) { return len(h.Body) > 0, nil }, 0
	for cursor, rounds := "", 0; rounds == 0 || cursor != ""; rounds++ {
		hits, next, err := u.Search(t.Context(), store.Search{Terms: terms, Limit: 20, Cursor: cursor}, odd)
		if err != nil {
			t.Fatal(err)
		}
		seen, cursor = seen+len(hits), next
	}
	if seen != all/2 {
		t.Errorf("%d documents were accepted, want %d", seen, all/2)
	}
	for _, bad := range []string{"x", "e30", "bnVsbA", "W10", "LTE"} {
		if _, _, err := u.Search(t.Context(), store.Search{Terms: terms, Limit: 5, Cursor: bad}, everything); !fault.Is(err,
			fault.Invalid) {
			t.Errorf("the cursor %q: %v", bad, err)
		}
	}
	if _, _, err := u.Search(t.Context(), store.Search{Terms: terms, Limit: store.MaxHits + 1}, everything); !fault.Is(err,
		fault.Internal) {
		t.Errorf("a page over the limit: %v", err)
	}
}

func searchFollows(t *testing.T, db *store.DB) {
	u := db.User("u")
	put := func(body string, same bool) {
		coll := pages
		if same {
			coll = coll.SameText()
		}
		note(t, u, func(tx *store.Tx) {
			coll.Put(tx, "a", item{Kind: "page", Status: "alpha", Body: body, CreatedAt: t0, Count: int64(len(body))})
		})
	}
	found := func(query string, want bool) {
		t.Helper()
		if got, _ := search(t, u, query, store.Search{}); (len(got) > 0) != want {
			t.Errorf("%s: found %v", query, got)
		}
	}
	put("first text", false)
	found("first", true)
	put("second text", false)
	found("first", false)
	found("second text", true)
	put("second text", false)
	found("text", true)
	put("second text", true)
	found("second", true)
	note(t, u, func(tx *store.Tx) { pages.Patch(tx, "a", store.Set("rank", 7)) })
	found("second", true)
	put(" - ", false)
	found("second", false)
	put("third", false)
	note(t, u, func(tx *store.Tx) { pages.Delete(tx, "a") })
	found("third", false)
	put("third again", false)
	found("third", true)
	if n, err := pages.DeleteWhere(t.Context(), u, store.Query{Limit: 5}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	found("third", false)
}

func searchLong(t *testing.T, db *store.DB) {
	u := db.User("u")
	var b strings.Builder
	for i := range 3 * store.TextWords {
		fmt.Fprintf(&b, "word%04d the ", i)
	}
	Say(t, u, "long", "title\n"+b.String())
	last := store.TextWords - 3 // beside "title" and "the"
	expect(t, u, store.Search{}, map[string]string{
		"title": "page long", "word0000": "page long", fmt.Sprintf("word%04d", last): "page long",
		fmt.Sprintf(`"the word%04d"`, last): "page long",
	})
	note(t, u, func(tx *store.Tx) {
		for i := range store.MaxWrites {
			pages.Put(tx, number(i), item{Kind: "page", Body: "many\n" + b.String()[:2000], CreatedAt: t0})
		}
	})
	if got, next := search(t, u, "many", store.Search{Limit: 5}); len(got) != 5 || next == "" {
		t.Errorf("of the largest commit: %v", got)
	}
}

func searchErased(t *testing.T, db *store.DB) {
	u, other := db.User("u"), db.User("other")
	Say(t, u, "a", "erased text")
	Say(t, other, "a", "erased text")
	if _, err := store.NewAdmin(db).Erase(t.Context(), "u"); err != nil {
		t.Fatal(err)
	}
	expect(t, u, store.Search{}, map[string]string{"erased": ""})
	expect(t, other, store.Search{}, map[string]string{"erased": "page a"})
	Say(t, u, "b", "erased once more")
	expect(t, u, store.Search{}, map[string]string{"erased": "page b"})
}
