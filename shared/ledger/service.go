package ledger

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Shards is the number of documents over which the totals of a program and day are spread.
const Shards = 4

// Service records calls and implements get_usage. All methods are safe for concurrent use.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
	// Shard is the shard to which this process adds, 0 to Shards-1. Processes may share a
	// shard; their flushes may then wait for each other.
	Shard int
	// Every is the interval of Run, two seconds if zero.
	Every time.Duration
	// Failed is called with the error of every failed flush of Run. It may be nil.
	Failed func(error)

	buffer buffer
}

// write creates a batch and adds it to the totals of its days in one transaction. It does nothing
// if the batch exists: an earlier attempt has written both.
func (s *Service) write(ctx context.Context, user string, b *attempt) error {
	doc, err := batchOf(b.records)
	if err != nil {
		return err
	}
	days := tally(b.records, s.Shard)
	err = s.DB.User(user).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		before := make([]Daily, len(days))
		fetches := make([]*store.Fetch, len(days))
		for i, d := range days {
			fetches[i] = dailies.Fetch(d.id(), &before[i])
		}
		if err := store.Load(ctx, tx, fetches...); err != nil {
			return err
		}
		batches.Create(tx, b.id, doc)
		for i, d := range days {
			dailies.Put(tx, d.id(), d.plus(before[i]))
		}
		return nil
	})
	if fault.Is(err, fault.Exists) {
		return nil
	}
	return err
}

const (
	defaultDays = 30
	maxDays     = 366
	// maxPages is the largest number of pages of totals that one call of Usage reads.
	maxPages = 6
	// maxBatches is the largest number of batches that one call reads records of.
	maxBatches = 20
)

const oneDay = 24 * time.Hour

// Usage returns the totals of the user's calls from one day to another, both included, grouped by
// GroupBy, or their records. Groups are sorted by calls, days by date. If there are more totals than one
// call reads, the output has the sums of a part and a cursor. A malformed date, a span of 366 days or more
// and an unknown cursor are Invalid.
func (s *Service) Usage(ctx context.Context, c identity.Caller, in UsageInput) (UsageOutput, error) {
	from, to, err := span(in.From, in.To, s.Now())
	if err != nil {
		return UsageOutput{}, err
	}
	out := UsageOutput{From: from.Format(time.DateOnly), To: to.Format(time.DateOnly), GroupBy: in.GroupBy}
	if in.Records {
		out.Groups = []Group{}
		return out, s.readRecords(ctx, s.DB.User(c.User), &out, in, from, to.Add(oneDay))
	}
	groups := map[string]Totals{}
	q := store.Query{Where: []store.Cond{store.Ge("day", out.From), store.Le("day", out.To)}, Order: []string{"day"},
		Limit: store.MaxLimit, Cursor: in.Cursor}
	for range maxPages {
		page, err := dailies.Query(ctx, s.DB.User(c.User), q)
		if err != nil {
			return UsageOutput{}, err
		}
		for _, d := range page.Docs {
			d.Value.groupInto(groups, out.GroupBy)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	out.NextCursor = q.Cursor
	out.sum(groups)
	return out, nil
}

// span returns the first and the last day of a call.
func span(from, to string, now time.Time) (first, last time.Time, err error) {
	var wrong []fault.Problem
	read := func(path, text string, day *time.Time) {
		if t, err := time.Parse(time.DateOnly, text); err == nil {
			*day = t
		} else if t, err := time.Parse(time.RFC3339, text); err == nil {
			*day = t.UTC().Truncate(oneDay)
		} else {
			wrong = append(wrong,
				fault.Problem{Path: path, Message: "must be a date as 2026-11-01 or a time as 2026-11-01T12:00:00Z"})
		}
	}
	last = now.UTC().Truncate(oneDay)
	if to != "" {
		read("to", to, &last)
	}
	first = last.AddDate(0, 0, 1-defaultDays)
	if from != "" {
		read("from", from, &first)
	}
	switch {
	case len(wrong) > 0:
		return first, last, fault.Problems(wrong...)
	case first.After(last):
		return first, last, fault.Field("from", "must not be after to, which is %s", last.Format(time.DateOnly))
	case last.Sub(first) >= maxDays*oneDay:
		return first, last, fault.Field("from", "must be less than %d days before to, which is %s", maxDays,
			last.Format(time.DateOnly))
	}
	return first, last, nil
}

// groupInto adds the totals of a document to their groups.
func (d Daily) groupInto(groups map[string]Totals, by GroupBy) {
	for key, t := range d.Totals {
		tool, transport, _ := strings.Cut(key, "|")
		switch by {
		case ByProgram:
			key = cmp.Or(d.Program, noProgram)
		case ByDay:
			key = d.Day
		case ByTransport:
			key = transport
		default:
			key = tool
		}
		groups[key] = groups[key].plus(t)
	}
}

func (o *UsageOutput) sum(groups map[string]Totals) {
	o.Groups = make([]Group, 0, len(groups))
	for key, t := range groups {
		o.Groups = append(o.Groups, Group{key, t.rounded()})
	}
	slices.SortFunc(o.Groups, func(a, b Group) int {
		if o.GroupBy == ByDay {
			return cmp.Compare(a.Key, b.Key)
		}
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Key, b.Key))
	})
	for _, g := range o.Groups {
		o.Total = o.Total.plus(g.Totals)
	}
	o.Total = o.Total.rounded()
}

// rounded removes the noise of floating-point sums.
func (t Totals) rounded() Totals {
	t.DurationMs = math.Round(t.DurationMs*1e3) / 1e3
	t.CostUSD = math.Round(t.CostUSD*1e9) / 1e9
	return t
}
