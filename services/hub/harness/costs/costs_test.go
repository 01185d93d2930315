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

var update = flag.Bool("update", false, "write the tables of the runbook anew")

const (
	runbook = "../../../../docs/operate.md"
	begin   = "<!-- costs: what a test of services/hub/harness/costs counted; -update writes it -->\n"
	end     = "<!-- end of costs -->\n"
)

func TestTheRunbookHasTheCostsThatWereCounted(t *testing.T) {
	t.Parallel()
	n := count(t)
	text, err := os.ReadFile(runbook)
	must(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	had, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the tables, between\n%sand\n%s", runbook, begin, end)
	}
	got := n.tables(app.New(nil, app.Ports{}).Sweeps()) + "\n"
	if got == had {
		return
	}
	if !*update {
		t.Fatalf("%s says something else than what was counted; where that is meant, write it with -update:\n%s", runbook, different(had, got))
	}
	must(t, os.WriteFile(runbook, []byte(before+begin+got+end+after), 0o644))
}

// different are the lines that only one of the texts has.
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

func TestAHundredCallsAreAHundred(t *testing.T) {
	t.Parallel()
	n, names := 0, map[string]bool{}
	for _, s := range mix {
		n += s.of
		if names[s.name] || s.of < 1 {
			t.Errorf("%q is there %d times, and perhaps twice in the list", s.name, s.of)
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

func TestTheMeterCountsAsGooglesListDoes(t *testing.T) {
	t.Parallel()
	m := &meter{}
	d, err := firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t), GRPC: m.dial()})
	must(t, err)
	notes := store.Collection[note]{Name: "notes", Indexes: []string{"text"}}
	db := store.New(d, store.NewSchema(notes.Def()))
	t.Cleanup(func() { must(t, db.Close()) })
	u := db.User("ann")
	change := func(fn func(tx *store.Tx)) error {
		return u.Update(t.Context(), func(_ context.Context, tx *store.Tx) error { fn(tx); return nil })
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
		{"each document that is made is a write", func() error {
			return change(func(tx *store.Tx) {
				for _, id := range []string{"1", "2", "3"} {
					notes.Create(tx, id, note{"a"})
				}
			})
		}, ops{writes: 3}, -1},
		{"each document that a query finds is a read", func() error { return list("a") }, ops{reads: 3}, -1},
		{"a document that is read is a read", func() error { _, err := notes.Get(t.Context(), u, "1"); return err }, ops{reads: 1}, -1},
		{"a document that is missing is a read", func() error { _, err := notes.Get(t.Context(), u, "4"); return err }, ops{reads: 1}, fault.NotFound},
		{"what is refused is not written", func() error {
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

func TestAListenerPaysForWhatItHears(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.asker()
	before := c.server.now()
	c.answered()
	if o := c.server.now().minus(before); o.heard < 1 || o.reads != 4 {
		t.Errorf("one who was woken by an answer cost %+v, want a document of the listener's beside four reads", o)
	}
}

func TestWhatIsFreeIsTakenOff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name             string
		got, price, free float64
		want             item
	}{
		{"nothing", 0, 2, 10, item{}},
		{"within what is free", 10, 2, 10, item{listed: 20}},
		{"past it", 11, 2, 10, item{listed: 22, paid: 2}},
		{"nothing is free", 3, 2, 0, item{listed: 6, paid: 6}},
	} {
		if got := over("", tc.got, tc.price, tc.free); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestCachesAndFlushesAreSharedByWhatComesTogether(t *testing.T) {
	t.Parallel()
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: %g, want about %g", what, got, want)
		}
	}
	near("a few look-ups are shared by none", refreshed(4, keyLookup), 4)
	near("very many are one every 55 seconds", refreshed(1e9, keyLookup), workingHours*3600/keyLookup)
	near("a few flushes are shared by none", together(4, flushEvery), 4)
	near("very many are one every 2 seconds", together(1e9, flushEvery), workingHours*3600/flushEvery)
	if refreshed(0, keyLookup) != 0 || together(0, flushEvery) != 0 {
		t.Error("nothing costs something")
	}
}
