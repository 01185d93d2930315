package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// book is a service on an empty store, with a clock that the test sets.
type book struct {
	*Service
	domaintest.Clock
	domaintest.IDs
	t *testing.T
}

func newBook(t *testing.T, db *store.DB) *book {
	b := &book{t: t}
	b.Service = &Service{DB: db, Now: b.Clock.Now, NewID: b.IDs.NewID, Every: time.Hour}
	return b
}

// each runs a test on both stores.
func each(t *testing.T, test func(*testing.T, *book)) {
	t.Helper()
	domaintest.Each(t, store.NewSchema(new(Service).Defs()...),
		func(t *testing.T, db *store.DB) { test(t, newBook(t, db)) })
}

// frail is a driver that counts calls and can fail transactions.
type frail struct {
	store.Driver
	// then is called before each transaction with its number, from 1. Its fault replaces the
	// result of the transaction; commit tells whether the transaction is committed nevertheless.
	then func(n int64) (answer error, commit bool)

	updates, gets, queries atomic.Int64
	// done gets a value for every committed transaction, if it is not nil.
	done chan struct{}
}

func (d *frail) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	d.queries.Add(1)
	return d.Driver.Query(ctx, p)
}

func (d *frail) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	n := d.updates.Add(1)
	var answer error
	commit := true
	if d.then != nil {
		answer, commit = d.then(n)
	}
	if !commit {
		return answer
	}
	err := d.Driver.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
		return fn(ctx, &countedReads{r, d})
	})
	if err == nil && d.done != nil {
		d.done <- struct{}{}
	}
	if err == nil {
		err = answer
	}
	return err
}

type countedReads struct {
	store.Reads
	d *frail
}

func (r *countedReads) Get(ctx context.Context, refs []store.Ref) ([]*store.Raw, error) {
	r.d.gets.Add(1)
	return r.Reads.Get(ctx, refs)
}

func (r *countedReads) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	r.d.queries.Add(1)
	return r.Reads.Query(ctx, p)
}

var errDown = fault.New(fault.Unavailable, "the store cannot answer now")

// eachFrail runs a test on both stores, each behind a frail driver.
func eachFrail(t *testing.T, test func(*testing.T, *book, *frail)) {
	t.Helper()
	fail := func(inner store.Driver) *frail { return &frail{Driver: inner} }
	domaintest.EachOver(t, store.NewSchema(new(Service).Defs()...), fail, func(t *testing.T, db *store.DB, d *frail) {
		test(t, newBook(t, db), d)
	})
}

// by returns a caller of a program, or of none, always with the same key id.
func by(user, program string) identity.Caller {
	c := domaintest.Unbound(user)
	c.Program = program
	return c
}

var alpha = by("u", "alpha")

// use returns a successful call of a tool at the start time.
func use(c identity.Caller, tool string, change ...func(*op.Usage)) op.Usage {
	u := op.Usage{Op: tool, Transport: "mcp", Caller: c, Took: 2 * time.Millisecond, At: domaintest.Start}
	for _, f := range change {
		f(&u)
	}
	return u
}

func (b *book) flush() {
	b.t.Helper()
	domaintest.Check(b.t, b.Flush(b.t.Context()))
}

// batches returns the batches of a user.
func (b *book) batches(user string) []store.Doc[Batch] {
	b.t.Helper()
	var docs []store.Doc[Batch]
	q := store.Query{Limit: store.MaxLimit}
	for {
		page := domaintest.Must(batches.Query(b.t.Context(), b.DB.User(user), q))(b.t)
		docs = append(docs, page.Docs...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return docs
		}
	}
}

func (b *book) records(user string) []Record {
	b.t.Helper()
	var all []Record
	for _, d := range b.batches(user) {
		var some []Record
		domaintest.Check(b.t, json.Unmarshal(d.Value.Records, &some))
		all = append(all, some...)
	}
	return all
}

func (b *book) usage(c identity.Caller, in UsageInput) UsageOutput {
	b.t.Helper()
	return domaintest.Must(b.Usage(b.t.Context(), c, in))(b.t)
}

// groups returns the groups of an answer in order, each as "key=calls".
func (b *book) groups(c identity.Caller, in UsageInput) string {
	b.t.Helper()
	var parts []string
	for _, g := range b.usage(c, in).Groups {
		parts = append(parts, fmt.Sprintf("%s=%d", g.Key, g.Calls))
	}
	return strings.Join(parts, " ")
}

// counted checks that the sessions s0 to s(n-1), one for each call, are recorded once each, and
// that the totals have n calls.
func (b *book) counted(user string, n int) {
	b.t.Helper()
	seen := map[string]int{}
	for _, r := range b.records(user) {
		seen[r.SessionID]++
	}
	for i := range n {
		if s := fmt.Sprintf("s%d", i); seen[s] != 1 {
			b.t.Errorf("%s of %s is recorded %d times", s, user, seen[s])
		}
	}
	if total := b.usage(by(user, ""), UsageInput{}).Total; len(seen) != n || total.Calls != int64(n) {
		b.t.Errorf("%s made %d calls: %d are recorded, %d in the totals", user, n, len(seen), total.Calls)
	}
}

func inSession(i int) func(*op.Usage) {
	return func(u *op.Usage) { u.SessionID = fmt.Sprintf("s%d", i) }
}

func at(text string) func(*op.Usage) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return func(u *op.Usage) { u.At = t }
}

func over(transport string) func(*op.Usage) { return func(u *op.Usage) { u.Transport = transport } }

// asJSON returns an output as a caller gets it.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	return string(domaintest.Must(json.Marshal(v))(t))
}

// Lost returns the number of calls that were lost since the start.
func (s *Service) Lost() int64 {
	s.buffer.mu.Lock()
	defer s.buffer.mu.Unlock()
	return s.buffer.lost
}
