package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

type note struct {
	Text    string    `json:"text"`
	Kind    string    `json:"kind"`
	PurgeAt time.Time `json:"purgeAt,omitzero"`
}

var notes = store.Collection[note]{Name: "notes", Indexes: []string{"kind"}}

func noteDB(t *testing.T, file string) (*store.DB, *Driver) {
	t.Helper()
	schema := store.NewSchema(notes.Def())
	d := open(t, file, schema)
	return store.New(d, schema), d
}

func open(t *testing.T, file string, schema *store.Schema) *Driver {
	t.Helper()
	d, err := Open(t.Context(), file, schema)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func put(t *testing.T, db *store.DB, id string, n note) error {
	t.Helper()
	return db.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
		notes.Put(tx, id, n)
		return nil
	})
}

func TestAcknowledgedWritesSurviveReopening(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	db, d := noteDB(t, file)
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "fullfsync": "1"} {
		var got string
		if err := d.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", pragma, got, want, err)
		}
	}
	if err := put(t, db, "a", note{Text: "kept"}); err != nil {
		t.Fatal(err)
	}
	// The first driver is not closed, as after a kill.
	db2, _ := noteDB(t, file)
	if n, err := notes.Get(t.Context(), db2.User("u"), "a"); err != nil || n.Text != "kept" {
		t.Fatalf("%+v, %v", n, err)
	}
	if err := errors.Join(db.Close(), db2.Close()); err != nil {
		t.Fatal(err)
	}
	if err := put(t, db, "b", note{}); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("a write to a closed store: %v", err)
	}
}

// TestTransactionsOfAGroupDoNotFailEachOther commits one group in which one transaction
// panics, one is refused and one fills the disk.
func TestTransactionsOfAGroupDoNotFailEachOther(t *testing.T) {
	t.Parallel()
	db, d := noteDB(t, filepath.Join(t.TempDir(), "p.db"))
	defer db.Close()
	var pages int
	if err := d.conn.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := d.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages+60)); err != nil {
		t.Fatal(err)
	}
	def := notes.Def()
	write := func(action store.Action, id, text string) []store.Write {
		ref := store.Ref{User: "u", Coll: "notes", ID: id}
		return []store.Write{{Action: action, Def: def, Ref: ref, Fields: store.Fields{"text": text, "kind": "k"}}}
	}
	make1 := func(fn func() []store.Write) *transaction {
		run := func(context.Context, store.Reads) ([]store.Write, error) { return fn(), nil }
		return &transaction{ctx: t.Context(), result: make(chan error, 1), fn: run}
	}
	group := []*transaction{
		make1(func() []store.Write { return write(store.Create, "first", "x") }),
		make1(func() []store.Write { panic("boom") }),
		make1(func() []store.Write { return write(store.Create, "first", "again") }),
		make1(func() []store.Write { return write(store.Create, "huge", strings.Repeat("x", 900_000)) }),
		make1(func() []store.Write { return write(store.Create, "last", "x") }),
	}
	d.commitGroup(group)
	want := []fault.Kind{-1, fault.Internal, fault.Exists, fault.Unavailable, -1}
	for i, m := range group {
		err := <-m.result
		if (want[i] < 0) != (err == nil) || (err != nil && fault.Of(err) != want[i]) {
			t.Errorf("transaction %d: %v", i, err)
		}
	}
	page, err := notes.Query(t.Context(), db.User("u"), store.Query{Where: []store.Cond{store.Eq("kind", "k")}, Limit: 9})
	if err != nil || len(page.Docs) != 2 || page.Docs[0].ID != "first" || page.Docs[1].ID != "last" ||
		page.Docs[0].Value.Text != "x" {
		t.Fatalf("%+v, %v", page, err)
	}
}

func TestACancelledCallerDoesNotAffectItsGroup(t *testing.T) {
	t.Parallel()
	db, _ := noteDB(t, filepath.Join(t.TempDir(), "p.db"))
	defer db.Close()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%3)*time.Millisecond)
			if i%2 == 0 {
				ctx = t.Context()
			}
			defer cancel()
			id := fmt.Sprint(i)
			err := db.User("u").Update(ctx, func(_ context.Context, tx *store.Tx) error {
				notes.Create(tx, id, note{})
				return nil
			})
			_, found := notes.Get(t.Context(), db.User("u"), id)
			if (err == nil) != (found == nil) {
				t.Errorf("%d: returned %v, found %v", i, err, found)
			}
			if i%2 == 0 && err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestTheFeedSurvivesAKill(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	db, d := noteDB(t, file)
	if err := put(t, db, "before", note{}); err != nil {
		t.Fatal(err)
	}
	feed, err := d.Feed(t.Context(), store.Follow{Collection: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []note{{Text: "1"}, {Text: "2"}} {
		if err := put(t, db, "a", n); err != nil {
			t.Fatal(err)
		}
	}
	err = db.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error { notes.Delete(tx, "a"); return nil })
	if err != nil {
		t.Fatal(err)
	}
	events, err := feed.Next(t.Context(), 0, 1)
	if err != nil || len(events) != 1 || events[0].Kind != store.Created || events[0].After["text"] != "1" ||
		events[0].Before != nil {
		t.Fatalf("%+v, %v", events, err)
	}
	if err := feed.Ack(t.Context(), events[0].Seq); err != nil {
		t.Fatal(err)
	}
	// A second driver on the file, as after a kill, goes on after the last Ack.
	db2, d2 := noteDB(t, file)
	feed2, err := d2.Feed(t.Context(), store.Follow{Collection: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	events, err = feed2.Next(t.Context(), 0, 10)
	if err != nil || len(events) != 2 || events[0].Kind != store.Updated || events[0].Before["text"] != "1" ||
		events[1].Kind != store.Deleted || events[1].After != nil {
		t.Fatalf("%+v, %v", events, err)
	}
	if again, err := feed2.Next(t.Context(), events[0].Seq, 10); err != nil || len(again) != 1 || again[0].ID != events[1].ID {
		t.Fatalf("past the first: %+v, %v", again, err)
	}
	if err := feed2.Ack(t.Context(), events[1].Seq); err != nil {
		t.Fatal(err)
	}
	got := make(chan []store.Event, 1)
	go func() {
		events, _ := feed2.Next(t.Context(), 0, 10)
		got <- events
	}()
	if err := put(t, db2, "late", note{Text: "late"}); err != nil {
		t.Fatal(err)
	}
	if events := <-got; len(events) != 1 || events[0].Ref.ID != "late" {
		t.Fatalf("%+v", events)
	}
	if err := errors.Join(db.Close(), db2.Close()); err != nil {
		t.Fatal(err)
	}
}

// A restarted reader may want any change, so until it calls Feed all of them are kept.
func TestTheFeedKeepsTheChangesThatConcernItsReader(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	db, d := noteDB(t, file)
	loud := store.Follow{Collection: "notes", Concerns: func(_ store.EventKind, before, after store.Fields) bool {
		return after["text"] == "loud" && before["text"] != "loud"
	}}
	feed, err := d.Feed(t.Context(), loud)
	if err != nil {
		t.Fatal(err)
	}
	write := func(db *store.DB, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if err := put(t, db, "a", note{Text: text}); err != nil {
				t.Fatal(err)
			}
		}
	}
	heard := func(f store.Feed) (kinds string) {
		t.Helper()
		events, err := f.Next(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			kinds += fmt.Sprintf("%s %v>%v, ", e.Kind, e.Before["text"], e.After["text"])
		}
		if err := f.Ack(t.Context(), events[len(events)-1].Seq); err != nil {
			t.Fatal(err)
		}
		return kinds
	}
	write(db, "quiet", "loud", "loud", "quiet", "loud")
	if got := heard(feed); got != "updated quiet>loud, updated quiet>loud, " {
		t.Errorf("it received %s", got)
	}
	db2, d2 := noteDB(t, file) // as after a restart
	write(db2, "quiet")
	feed2, err := d2.Feed(t.Context(), loud)
	if err != nil {
		t.Fatal(err)
	}
	write(db2, "still", "loud")
	if got := heard(feed2); got != "updated loud>quiet, updated still>loud, " {
		t.Errorf("after a restart it received %s", got)
	}
	all, err := d2.Feed(t.Context(), store.Follow{Collection: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	write(db2, "quiet")
	if got := heard(all); got != "updated loud>quiet, " {
		t.Errorf("once it wants everything it received %s", got)
	}
	if err := errors.Join(db.Close(), db2.Close()); err != nil {
		t.Fatal(err)
	}
}

// A dropped collection keeps no changes, and starts anew when it is followed again.
func TestTheFeedDropsACollectionThatIsNoLongerFollowed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	db, d := noteDB(t, file)
	defer db.Close()
	if _, err := d.Feed(t.Context(), store.Follow{Collection: "notes"}); err != nil {
		t.Fatal(err)
	}
	if err := put(t, db, "a", note{Text: "followed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Feed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := put(t, db, "a", note{Text: "not followed"}); err != nil {
		t.Fatal(err)
	}
	feed, err := d.Feed(t.Context(), store.Follow{Collection: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	if err := put(t, db, "a", note{Text: "again"}); err != nil {
		t.Fatal(err)
	}
	events, err := feed.Next(t.Context(), 0, 10)
	if err != nil || len(events) != 1 || events[0].After["text"] != "again" {
		t.Errorf("got %+v, %v; want the last change alone", events, err)
	}
}

func TestPurgeDeletesExpiredDocumentsOnly(t *testing.T) {
	t.Parallel()
	db, d := noteDB(t, filepath.Join(t.TempDir(), "p.db"))
	defer db.Close()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for id, n := range map[string]note{
		"1": {PurgeAt: now}, "2": {PurgeAt: now.Add(-time.Hour)}, "3": {PurgeAt: now.Add(time.Microsecond)}, "4": {},
	} {
		if err := put(t, db, id, n); err != nil {
			t.Fatal(err)
		}
	}
	schema := store.NewSchema(notes.Def())
	for _, want := range []int{1, 1, 0} {
		if n, err := d.Purge(t.Context(), schema, now, 1); err != nil || n != want {
			t.Fatalf("purged %d, want %d (%v)", n, want, err)
		}
	}
	page, err := notes.Query(t.Context(), db.User("u"), store.Query{Limit: 9})
	if err != nil || len(page.Docs) != 2 || page.Docs[0].ID != "3" {
		t.Fatalf("%+v, %v", page, err)
	}
}

func TestANewIndexCoversExistingDocuments(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.db")
	db, _ := noteDB(t, file)
	for i := range 3 {
		if err := put(t, db, fmt.Sprint(i), note{Text: fmt.Sprint(9 - i), Kind: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	type note2 struct {
		Text string `json:"text"`
		Kind string `json:"kind"`
	}
	more := store.Collection[note2]{Name: "notes", Indexes: []string{"kind", "kind,text"}}
	schema := store.NewSchema(more.Def())
	db = store.New(open(t, file, schema), schema)
	defer db.Close()
	q := store.Query{Where: []store.Cond{store.Eq("kind", "k")}, Order: []string{"text"}, Limit: 9}
	page, err := more.Query(t.Context(), db.User("u"), q)
	if err != nil || len(page.Docs) != 3 || page.Docs[0].ID != "2" {
		t.Fatalf("%+v, %v", page, err)
	}
}

func FuzzKeysSortAsValuesDo(f *testing.F) {
	f.Add("a", "a\x00b", 1.5, -2.0, int64(3), true)
	f.Add("", "\xff", 0.0, math.Copysign(0, -1), int64(-1), false)
	f.Fuzz(func(t *testing.T, s1, s2 string, f1, f2 float64, micros int64, yes bool) {
		if math.IsNaN(f1) || math.IsNaN(f2) {
			return
		}
		at := time.UnixMicro(micros % (1 << 55)).UTC()
		values := []any{nil, yes, !yes, f1, f2, int64(f1 / 1e300), at, at.Add(time.Microsecond), s1, s2}
		for _, a := range values {
			for _, b := range values {
				for _, desc := range []bool{false, true} {
					ka, _ := appendValue(nil, a, desc)
					kb, _ := appendValue(nil, b, desc)
					// The bytes after a key must not change its order.
					got, want := bytes.Compare(append(ka, 0xfe), append(kb, 0x01)), store.Compare(a, b)
					if desc {
						want = -want
					}
					if want != 0 && got != want {
						t.Fatalf("%v and %v (desc %v): keys %d, values %d", a, b, desc, got, want)
					}
					if want == 0 && !bytes.Equal(ka[:len(ka)-0], kb[:len(kb)-0]) {
						t.Fatalf("%v and %v are equal, their keys are not", a, b)
					}
				}
			}
		}
	})
}

func FuzzTextComesBack(f *testing.F) {
	f.Add(`{"a":[1,2.5,"x",{"$t":5}],"$$t":null}`, "k", "v\"\\\n")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		if doc, err := parseText(text); err == nil {
			again, err := parseText(string(appendText(nil, doc)))
			if err != nil || !reflect.DeepEqual(doc, again) {
				t.Fatalf("%v, %v, %v", doc, again, err)
			}
		}
		doc := store.Fields{key: []any{value, int64(1), 2.0, true, nil, time.UnixMicro(7).UTC(), store.Fields{value: key}}}
		again, err := parseText(string(appendText(nil, doc)))
		if err != nil || !reflect.DeepEqual(doc, again) {
			t.Fatalf("%v, %v, %v", doc, again, err)
		}
	})
}
