package search_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/search"
	"parley.internal/shared/store"
)

type page struct {
	Title string    `json:"title"`
	Body  string    `json:"body"`
	At    time.Time `json:"at"`
	Owner string    `json:"owner"`
}

var (
	pages = store.Collection[page]{Name: "pages", Text: text}
	// unread are searched by nobody's domain.
	unread = store.Collection[page]{Name: "unread", Text: text}
)

func text(p *page, r store.Ref) store.Text {
	return store.Text{Kind: "task", ID: r.ID, Title: p.Title, Body: p.Body, At: p.At, Readers: []string{store.Everybody}}
}

// each runs a test of a search on both stores, with documents.
func each(t *testing.T, docs map[string]page, test func(t *testing.T, find func(search.Input) (search.Output, error))) {
	t.Helper()
	schema := store.NewSchema(store.TextDef(), pages.Def(), unread.Def())
	domaintest.Each(t, schema, func(t *testing.T, db *store.DB) {
		domaintest.Check(t, db.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			for id, d := range docs {
				pages.Put(tx, id, d)
				unread.Put(tx, id, d)
			}
			return nil
		}))
		s := &search.Service{DB: db, Searches: func() []domain.Search {
			return []domain.Search{domain.Searching(pages, func(c identity.Caller, p *page, _ store.Ref) bool {
				return p.Owner == "" || identity.Same(p.Owner, c.Program)
			})}
		}}
		test(t, func(in search.Input) (search.Output, error) {
			return s.Search(t.Context(), domaintest.Bound("u", "alpha"), op.Fill(in))
		})
	})
}

func ids(out search.Output) string {
	var all []string
	for _, r := range out.Results {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

func TestAResultShowsItsMatches(t *testing.T) {
	each(t, map[string]page{
		"body":  {Title: "The parser", Body: "Why <b>the</b> parser ⟦fails⟧."},
		"title": {Title: "A lexer", Body: "nothing of it"},
		"long":  {Title: strings.Repeat("x ", 150) + "lexer"},
	}, func(t *testing.T, find func(search.Input) (search.Output, error)) {
		for query, want := range map[string]string{
			`"the b parser"`: "Why <b>⟦the</b> parser⟧ [fails].",
			"nothing lex*":   "⟦nothing⟧ of it",
			`a "lexer"`:      "⟦A lexer⟧",
		} {
			out, err := find(search.Input{Q: query})
			domaintest.Check(t, err)
			if len(out.Results) == 0 || out.Results[0].Snippet != want {
				t.Errorf("%s: %+v, want %q", query, out.Results, want)
			}
		}
		out, err := find(search.Input{Q: "x lexer"})
		domaintest.Check(t, err)
		if len(out.Results) != 1 || len([]rune(out.Results[0].Title)) != 200 || !strings.HasSuffix(out.Results[0].Title, "…") {
			t.Errorf("a long title: %+v", out.Results)
		}
	})
}

func TestASearchTakesDaysAndTimes(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	each(t, map[string]page{
		"a": {Title: "word", At: noon.AddDate(0, 0, -1)}, "b": {Title: "word", At: noon},
		"c": {Title: "word", At: noon.Add(12*time.Hour - time.Microsecond)}, "d": {Title: "word", At: noon.Add(12 * time.Hour)},
	}, func(t *testing.T, find func(search.Input) (search.Output, error)) {
		for _, c := range []struct{ from, to, want string }{
			{"", "", "d c b a"}, {"2026-03-02", "", "d c b"}, {"", "2026-03-02", "c b a"}, {"2026-03-02", "2026-03-02", "c b"},
			{"2026-03-02T13:00:00+01:00", "", "d c b"}, {"2026-03-02T12:00:01Z", "2026-03-02T23:59:59.999999Z", "c"},
		} {
			out, err := find(search.Input{Q: "word", From: c.from, To: c.to})
			if err != nil || ids(out) != c.want {
				t.Errorf("from %s to %s: %s, %v; want %s", c.from, c.to, ids(out), err, c.want)
			}
		}
	})
}

func TestAPageHasWhatTheCallerMayRead(t *testing.T) {
	docs := map[string]page{}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 40 {
		owner := "beta"
		if i%4 == 0 {
			owner = "alpha"
		}
		docs[string(rune('A'+i))] = page{Title: "word", Owner: owner, At: at.Add(time.Duration(i) * time.Second)}
	}
	each(t, docs, func(t *testing.T, find func(search.Input) (search.Output, error)) {
		seen, in := 0, search.Input{Q: "word", Limit: 3}
		for pages := 0; pages == 0 || in.Cursor != ""; pages++ {
			out, err := find(in)
			domaintest.Check(t, err)
			for _, r := range out.Results {
				if docs[r.ID].Owner != "alpha" {
					t.Errorf("%s is beta's", r.ID)
				}
			}
			seen, in.Cursor = seen+len(out.Results), out.NextCursor
		}
		if seen != 10 {
			t.Errorf("%d documents, want 10", seen)
		}
	})
}
