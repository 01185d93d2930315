package ledger

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

func TestUsageIsGroupedAsRequested(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		beta, loose := by("u", "beta"), by("u", "")
		failed := func(u *op.Usage) { u.Fault = "NOT_FOUND" }
		spent := func(u *op.Usage) { u.TokensIn, u.TokensOut, u.CostUSD = 10, 5, 0.1 }
		for _, u := range []op.Usage{
			use(alpha, "look"), use(alpha, "look", over("rest")), use(beta, "look", failed),
			use(alpha, "finish", spent), use(alpha, "finish", spent, at("2026-02-27T10:00:00Z")),
			use(loose, "finish", spent),
			use(loose, "ask", over("rest")),
		} {
			b.Record(u)
			b.flush() // one by one, so that totals are added up
		}
		for by, want := range map[GroupBy]string{
			"":          "finish=3 look=3 ask=1",
			ByTool:      "finish=3 look=3 ask=1",
			ByProgram:   "alpha=4 (none)=2 beta=1",
			ByDay:       "2026-02-27=1 2026-03-01=6",
			ByTransport: "mcp=5 rest=2",
		} {
			if got := b.groups(alpha, UsageInput{GroupBy: by}); got != want {
				t.Errorf("by %s: %s, want %s", by, got, want)
			}
		}
		want := `{"from":"2026-02-28","to":"2026-03-01","groupBy":"tool","groups":[` +
			`{"key":"look","calls":3,"errors":1,"durationMs":6,"tokensIn":0,"tokensOut":0,"costUsd":0},` +
			`{"key":"finish","calls":2,"errors":0,"durationMs":4,"tokensIn":20,"tokensOut":10,"costUsd":0.2},` +
			`{"key":"ask","calls":1,"errors":0,"durationMs":2,"tokensIn":0,"tokensOut":0,"costUsd":0}],` +
			`"total":{"calls":6,"errors":1,"durationMs":12,"tokensIn":20,"tokensOut":10,"costUsd":0.2}}`
		if got := asJSON(t, b.usage(alpha, UsageInput{From: "2026-02-28"})); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	})
}

func TestSumsAreRounded(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		for range 3 {
			b.Record(use(alpha, "finish", func(u *op.Usage) { u.CostUSD, u.Took = 0.1, 100*time.Microsecond }))
		}
		b.flush()
		if total := b.usage(alpha, UsageInput{}).Total; total.CostUSD != 0.3 || total.DurationMs != 0.3 {
			t.Errorf("%+v", total)
		}
	})
}

func TestACallCountsForItsOwnDayInUTC(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		for _, when := range []string{"2026-02-28T00:00:00Z", "2026-02-28T23:59:59.999999Z", "2026-03-01T00:00:00Z",
			"2026-03-01T01:00:00+02:00", "2026-03-01T01:59:59+02:00", "2026-02-28T20:00:00-05:00"} {
			b.Record(use(alpha, "tool", at(when)))
		}
		b.Pass(48 * time.Hour) // written on another day
		b.flush()
		if got := b.groups(alpha, UsageInput{GroupBy: ByDay}); got != "2026-02-28=4 2026-03-01=2" {
			t.Error(got)
		}
	})
}

func TestASpanIncludesItsFirstAndLastDay(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		for _, day := range []string{"2025-03-01", "2026-01-30", "2026-01-31", "2026-02-27", "2026-02-28", "2026-03-01",
			"2026-03-02"} {
			b.Record(use(alpha, "tool", at(day+"T12:00:00Z")))
		}
		b.flush()
		for name, c := range map[string]struct {
			in   UsageInput
			want string
		}{
			"the last 30 days":    {UsageInput{}, "2026-01-31 2026-02-27 2026-02-28 2026-03-01"},
			"from a day on":       {UsageInput{From: "2026-02-28"}, "2026-02-28 2026-03-01"},
			"30 days up to a day": {UsageInput{To: "2026-02-28"}, "2026-01-30 2026-01-31 2026-02-27 2026-02-28"},
			"one day":             {UsageInput{From: "2026-02-28", To: "2026-02-28"}, "2026-02-28"},
			"a day to come":       {UsageInput{From: "2026-03-01", To: "2026-04-01"}, "2026-03-01 2026-03-02"},
			"times": {UsageInput{From: "2026-02-27T23:59:59Z", To: "2026-02-28T00:00:00Z"},
				"2026-02-27 2026-02-28"},
			"times of another zone": {UsageInput{From: "2026-02-28T01:00:00+02:00", To: "2026-02-28T20:00:00-05:00"},
				"2026-02-27 2026-02-28 2026-03-01"},
			"a year and a day": {UsageInput{From: "2025-03-01"},
				"2025-03-01 2026-01-30 2026-01-31 2026-02-27 2026-02-28 2026-03-01"},
			"the largest span": {UsageInput{From: "2025-03-01", To: "2026-03-01"},
				"2025-03-01 2026-01-30 2026-01-31 2026-02-27 2026-02-28 2026-03-01"},
			"days without calls": {UsageInput{From: "2026-02-01", To: "2026-02-02"}, ""},
		} {
			c.in.GroupBy = ByDay
			if got := strings.ReplaceAll(b.groups(alpha, c.in), "=1", ""); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		if got := asJSON(t, b.usage(alpha, UsageInput{To: "2026-01-01"})); !strings.Contains(got, `"groups":[],`) ||
			!strings.Contains(got, `"from":"2025-12-03","to":"2026-01-01"`) {
			t.Errorf("without calls: %s", got)
		}
		for name, c := range map[string]struct {
			in    UsageInput
			field string
		}{
			"no date":            {UsageInput{From: "yesterday"}, "from"},
			"no date to end":     {UsageInput{To: "2026-02-30"}, "to"},
			"a date and more":    {UsageInput{To: "2026-02-03 10:00"}, "to"},
			"backwards":          {UsageInput{From: "2026-02-02", To: "2026-02-01"}, "from"},
			"from tomorrow":      {UsageInput{From: "2026-03-02"}, "from"},
			"a day too many":     {UsageInput{From: "2025-02-28", To: "2026-03-01"}, "from"},
			"thousands of years": {UsageInput{From: "0001-01-01", To: "9999-12-31"}, "from"},
		} {
			if _, err := b.Usage(t.Context(), alpha, c.in); domaintest.Fields(err) != c.field {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := b.Usage(t.Context(), alpha, UsageInput{From: "x", To: "y"})
		if f := fault.From(err); f.Kind != fault.Invalid || len(f.Problems) != 2 {
			t.Errorf("two problems: %v", err)
		}
	})
}

func TestUsageIsSeparatePerUser(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		b.Record(use(alpha, "tool"))
		b.Record(use(by("v", "alpha"), "tool"))
		b.Record(use(by("v", "alpha"), "other"))
		b.flush()
		if got := b.groups(alpha, UsageInput{}); got != "tool=1" {
			t.Errorf("u sees %s", got)
		}
		if got := b.groups(by("v", ""), UsageInput{}); got != "other=1 tool=1" {
			t.Errorf("v sees %s", got)
		}
		if got := b.groups(by("w", ""), UsageInput{}); got != "" {
			t.Errorf("w sees %s", got)
		}
	})
}

func TestShardsAreSummedUp(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		for shard := range Shards {
			other := newBook(t, b.DB)
			other.Shard = shard
			other.Service.NewID = b.IDs.NewID
			other.Record(use(alpha, "tool"))
			other.flush()
		}
		if got := b.groups(alpha, UsageInput{}); got != "tool=4" {
			t.Error(got)
		}
		page, err := dailies.Query(t.Context(), b.DB.User("u"), store.Query{Limit: 10})
		if err != nil || len(page.Docs) != Shards {
			t.Errorf("%d documents, %v", len(page.Docs), err)
		}
	})
}

// put stores totals for the programs p<from> to p<to-1>, as other processes would.
func (b *book) put(from, to int) {
	b.t.Helper()
	for i := from; i < to; i += store.MaxWrites {
		err := b.DB.User("u").Update(b.t.Context(), func(_ context.Context, tx *store.Tx) error {
			for j := i; j < min(to, i+store.MaxWrites); j++ {
				d := Daily{Day: "2026-03-01", Program: fmt.Sprintf("p%d", j),
					Totals: map[string]Totals{"tool|mcp": {Calls: 1}}}
				dailies.Put(tx, d.id(), d)
			}
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// However many programs there are, they are all answered for, in pages that each read a bounded number of documents.
func TestUsageAnswersForAnyNumberOfPrograms(t *testing.T) {
	eachFrail(t, func(t *testing.T, b *book, d *frail) {
		had := 0
		for _, c := range []struct {
			docs    int
			queries int64
			pages   int
		}{{499, 1, 1}, {1501, 4, 1}, {3001, 7, 2}, {6500, 14, 3}} {
			b.put(had, c.docs)
			had = c.docs
			d.queries.Store(0)
			in, pages, calls, programs := UsageInput{GroupBy: ByProgram}, 0, int64(0), map[string]bool{}
			for ; pages == 0 || in.Cursor != ""; pages++ {
				before := d.queries.Load()
				out := b.usage(alpha, in)
				if n := d.queries.Load() - before; n > maxPages {
					t.Errorf("a page of %d documents took %d queries", c.docs, n)
				}
				for _, g := range out.Groups {
					programs[g.Key] = true
				}
				calls, in.Cursor = calls+out.Total.Calls, out.NextCursor
			}
			if pages != c.pages || calls != int64(c.docs) || len(programs) != c.docs || d.queries.Load() != c.queries {
				t.Errorf("%d documents in %d pages and %d queries have %d calls of %d programs", c.docs, pages,
					d.queries.Load(), calls, len(programs))
			}
		}
	})
}
