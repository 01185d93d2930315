package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
)

// sessions reads all records by pages and returns their sessions, in order, and the number of pages.
func (b *book) sessions(in UsageInput) (got []string, pages int) {
	b.t.Helper()
	in.Records = true
	for ; pages == 0 || in.Cursor != ""; pages++ {
		out := b.usage(alpha, in)
		if out.Records == nil || len(out.Records) > max(in.Limit, 50) || len(out.Groups) != 0 {
			b.t.Fatalf("%+v", out)
		}
		for _, r := range out.Records {
			got = append(got, r.SessionID)
		}
		in.Cursor = out.NextCursor
	}
	return got, pages
}

func TestSingleRecordsAreReadNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		var want []string
		i := 0
		for _, batch := range []int{1, 3, 2, 5} {
			for range batch {
				b.Record(use(alpha, "tool", inSession(i), at(fmt.Sprintf("2026-03-01T10:%02d:00Z", i))))
				want = append([]string{fmt.Sprintf("s%d", i)}, want...)
				i++
			}
			b.flush()
		}
		b.Record(use(by("v", "alpha"), "tool", inSession(99)))
		b.flush()
		for _, limit := range []int{1, 2, 3, 4, 10, 11, 12, 200} {
			got, pages := b.sessions(UsageInput{Limit: limit})
			if !slices.Equal(got, want) || pages > (len(want)+limit-1)/limit {
				t.Errorf("by %d: %v in %d pages, want %v", limit, got, pages, want)
			}
		}
		one := b.usage(alpha, UsageInput{Records: true, Limit: 1}).Records[0]
		if one.Tool != "tool" || one.Transport != "mcp" || one.ProgramID != "alpha" || !one.Success || one.DurationMs != 2 ||
			!one.At.Equal(time.Date(2026, 3, 1, 10, 10, 0, 0, time.UTC)) {
			t.Errorf("%+v", one)
		}
	})
}

func TestRecordsAreThoseOfTheDays(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		for i, day := range []string{"2026-02-27T23:59:59Z", "2026-02-28T00:00:00Z", "2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z"} {
			b.Record(use(alpha, "tool", inSession(i), at(day)))
		}
		b.flush() // one batch of three days
		for _, c := range []struct {
			in   UsageInput
			want []string
		}{
			{UsageInput{}, []string{"s3", "s2", "s1", "s0"}},
			{UsageInput{From: "2026-02-28", To: "2026-02-28"}, []string{"s2", "s1"}},
			{UsageInput{To: "2026-02-27"}, []string{"s0"}},
			{UsageInput{From: "2026-02-28"}, []string{"s3", "s2", "s1"}},
			{UsageInput{To: "2026-02-20"}, nil},
		} {
			if got, _ := b.sessions(c.in); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v, want %v", c.in, got, c.want)
			}
		}
	})
}

func TestACursorOfRecordsHoldsWhileOthersAreAddedAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, b *book) {
		for i := range 3 * maxBatches {
			b.Record(use(alpha, "t", inSession(i), at(domaintest.Start.Add(time.Duration(i)*time.Second).Format(time.RFC3339))))
			b.flush()
		}
		all, pages := b.sessions(UsageInput{Limit: 200})
		if len(all) != 3*maxBatches || pages < 3 || pages > 4 || all[0] != "s59" || all[59] != "s0" {
			t.Errorf("%d records in %d pages: %v", len(all), pages, all)
		}
		first := b.usage(alpha, UsageInput{Records: true, Limit: 5})
		b.Record(use(alpha, "t", inSession(100), at("2026-03-01T23:00:00Z")))
		b.flush()
		next := b.usage(alpha, UsageInput{Records: true, Limit: 5, Cursor: first.NextCursor})
		if len(next.Records) != 5 || next.Records[0].SessionID != "s54" {
			t.Errorf("%+v", next.Records)
		}
		for _, cursor := range []string{"x", "e30", "bnVsbA"} {
			if _, err := b.Usage(t.Context(), alpha, UsageInput{Records: true, Cursor: cursor}); domaintest.Fields(err) != "cursor" {
				t.Errorf("%q: %v", cursor, err)
			}
		}
	})
}
