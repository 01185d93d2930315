package costs

import (
	"context"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

var update = flag.Bool("update", false, "rewrite the tables of the runbook")

const (
	runbook = "../../../../docs/operate.md"
	begin   = "<!-- costs: the counts of a test of services/hub/harness/costs; -update writes them -->\n"
	end     = "<!-- end of costs -->\n"
)

func TestTheRunbookHasTheCountedCosts(t *testing.T) {
	t.Parallel()
	n := count(t)
	text, err := os.ReadFile(runbook)
	must(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	had, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s must have the marks\n%sand\n%s", runbook, begin, end)
	}
	got := n.tables(app.New(nil, app.Ports{}).Sweeps()) + "\n"
	if got == had {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the counts; if the change is intended, run the test with -update:\n%s",
			runbook, different(had, got))
	}
	must(t, os.WriteFile(runbook, []byte(before+begin+got+end+after), 0o644))
}

// different returns the lines that only one of the texts has.
func different(had, got string) string {
	var b strings.Builder
	for _, side := range []struct{ sign, text, other string }{{"- ", had, got}, {"+ ", got, had}} {
		there := map[string]bool{}
		for l := range strings.Lines(side.other) {
			there[l] = true
		}
		for l := range strings.Lines(side.text) {
			if !there[l] {
				b.WriteString(side.sign + l)
			}
		}
	}
	return b.String()
}

func TestTheMixHasAHundredCalls(t *testing.T) {
	t.Parallel()
	n, names := 0, map[string]bool{}
	for _, s := range mix {
		n += s.of
		if names[s.name] || s.of < 1 {
			t.Errorf("%q is listed twice or has %d calls", s.name, s.of)
		}
		names[s.name] = true
	}
	if n != 100 {
		t.Errorf("the mix has %d calls", n)
	}
}

type note struct {
	Text string `json:"text"`
}

func TestTheMeterCountsAsGooglesPriceListDoes(t *testing.T) {
	t.Parallel()
	m := &meter{}
	d, err := firestore.Open(t.Context(), firestore.Options{
		EmulatorHost: emulator.Shared(t), Project: emulator.Project(t), GRPC: m.dial(),
	})
	must(t, err)
	notes := store.Collection[note]{Name: "notes", Indexes: []string{"text"}}
	db := store.New(d, store.NewSchema(notes.Def()))
	t.Cleanup(func() { must(t, db.Close()) })
	u := db.User("ann")
	change := func(fn func(tx *store.Tx)) error {
		return u.Update(t.Context(), func(_ context.Context, tx *store.Tx) error { fn(tx); return nil })
	}
	get := func(id string) error {
		_, err := notes.Get(t.Context(), u, id)
		return err
	}
	list := func(text string) error {
		_, err := notes.Query(t.Context(), u, store.Query{Where: []store.Cond{store.Eq("text", text)}, Limit: 10})
		return err
	}
	for _, tc := range []struct {
		name  string
		do    func() error
		want  ops
		fault fault.Kind
	}{
		{"an empty query is a read", func() error { return list("a") }, ops{reads: 1}, -1},
		{"each created document is a write", func() error {
			return change(func(tx *store.Tx) {
				for _, id := range []string{"1", "2", "3"} {
					notes.Create(tx, id, note{"a"})
				}
			})
		}, ops{writes: 3}, -1},
		{"each document found by a query is a read", func() error { return list("a") }, ops{reads: 3}, -1},
		{"a document that is fetched is a read", func() error { return get("1") }, ops{reads: 1}, -1},
		{"a missing document is a read", func() error { return get("4") }, ops{reads: 1}, fault.NotFound},
		{"a refused transaction has no writes", func() error {
			return change(func(tx *store.Tx) { notes.Create(tx, "1", note{"b"}); notes.Create(tx, "5", note{"b"}) })
		}, ops{}, fault.Exists},
		{"a transaction's reads and writes count", func() error {
			return u.Update(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				n, err := notes.Get(ctx, tx, "2")
				notes.Put(tx, "2", n)
				notes.Delete(tx, "3")
				return err
			})
		}, ops{reads: 1, writes: 1, deletes: 1}, -1},
	} {
		before := m.now()
		err := tc.do()
		if got := m.now().minus(before); got != tc.want {
			t.Errorf("%s: counted %+v, want %+v", tc.name, got, tc.want)
		}
		if (err == nil) != (tc.fault < 0) || (err != nil && fault.Of(err) != tc.fault) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestADocumentSentToAListenerIsARead(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.ask()
	before := c.server.now()
	c.awaitAnswer()
	if o := c.server.now().minus(before); o.heard < 1 || o.reads != 4 {
		t.Errorf("a wait that an answer ended cost %+v, want a listener's document and four reads", o)
	}
}

func TestTheFreeQuotaIsSubtracted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name             string
		got, price, free float64
		want             item
	}{
		{"nothing", 0, 2, 10, item{}},
		{"within the free quota", 10, 2, 10, item{listed: 20}},
		{"beyond it", 11, 2, 10, item{listed: 22, paid: 2}},
		{"no free quota", 3, 2, 0, item{listed: 6, paid: 6}},
	} {
		if got := over("", tc.got, tc.price, tc.free); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestCachesAndFlushesAreSharedUnderLoad(t *testing.T) {
	t.Parallel()
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: %g, want about %g", what, got, want)
		}
	}
	near("few look-ups share no cache entry", cacheMisses(4, keyLookup), 4)
	near("many look-ups cost one every 55 seconds", cacheMisses(1e9, keyLookup), workingHours*3600/keyLookup)
	near("few calls share no flush", batches(4, flushEvery), 4)
	near("many calls cost a flush every 2 seconds", batches(1e9, flushEvery), workingHours*3600/flushEvery)
	if cacheMisses(0, keyLookup) != 0 || batches(0, flushEvery) != 0 {
		t.Error("no calls must cost nothing")
	}
}
