package firestore_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

// timeout limits the wait for an expected change.
const timeout = 20 * time.Second

// watch returns the changes that a driver reports for a collection.
func watch(t *testing.T, d *firestore.Driver, coll string) (heard chan store.Change, stop func()) {
	t.Helper()
	heard = make(chan store.Change, 100)
	stop, err := d.Watch(t.Context(), "u", coll, func(c store.Change) { heard <- c })
	if err != nil {
		t.Fatal(err)
	}
	return heard, stop
}

func next(t *testing.T, heard chan store.Change) store.Change {
	t.Helper()
	select {
	case c := <-heard:
		return c
	case <-time.After(timeout):
		t.Fatal("no change was reported")
	}
	return store.Change{}
}

func TestAWatcherReceivesTheWritesOfOtherClients(t *testing.T) {
	t.Parallel()
	opts := emulated(t)
	here, there := open(t, opts), open(t, opts)
	write(t, there, put("before", store.Fields{"name": "x"}))
	heard, stop := watch(t, here, "things")
	defer stop()
	when := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	full := store.Fields{"name": "a", "n": int64(1), "part": 1.5, "yes": true, "at": when,
		"list": []any{"x", int64(2)}, "map": store.Fields{"k": nil}}
	for _, tc := range []struct {
		name  string
		write store.Write
		want  store.Change
	}{
		{"a create", create("a", full), store.Change{Ref: at("a"), Fields: full}},
		{"a patch", patch("before", store.Set("name", "y")), store.Change{Ref: at("before"), Fields: store.Fields{"name": "y"}}},
		{"an addition", patch("before", store.Add("n", 2)),
			store.Change{Ref: at("before"), Fields: store.Fields{"name": "y", "n": int64(2)}}},
		{"a put that changes nothing", put("before", store.Fields{"name": "y", "n": int64(2)}),
			store.Change{Ref: at("before"), Fields: store.Fields{"name": "y", "n": int64(2)}}},
		{"a delete", remove("a"), store.Change{Ref: at("a")}},
	} {
		write(t, there, tc.write)
		if got := next(t, heard); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: received %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestAWatcherReceivesItsOwnCollectionOnly(t *testing.T) {
	t.Parallel()
	d := open(t, emulated(t))
	heard, stop := watch(t, d, "things/a/parts")
	defer stop()
	part := func(parent string) store.Write {
		ref := store.Ref{User: "u", Coll: "things/" + parent + "/parts", ID: "p"}
		return store.Write{Action: store.Put, Ref: ref, Def: parts.Def(), Fields: store.Fields{}}
	}
	write(t, d, put("p", store.Fields{}))
	write(t, d, part("b"))
	write(t, d, part("a"))
	if got := next(t, heard); got.Ref.Coll != "things/a/parts" {
		t.Errorf("received %+v", got)
	}
}

func TestAStoppedWatcherReceivesNothing(t *testing.T) {
	t.Parallel()
	d := open(t, emulated(t))
	_, stop := watch(t, d, "things")
	heard, stopOther := watch(t, d, "things")
	defer stopOther()
	told := make(chan store.Change, 1)
	stopTold, err := d.Watch(t.Context(), "u", "things", func(c store.Change) { told <- c })
	if err != nil {
		t.Fatal(err)
	}
	stop()
	stopTold()
	stopTold() // does no harm
	write(t, d, put("a", store.Fields{}))
	next(t, heard)
	if len(told) > 0 {
		t.Errorf("received %+v", <-told)
	}
}

func TestAWatcherOutlivesTheCallThatStartedIt(t *testing.T) {
	t.Parallel()
	d := open(t, emulated(t))
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan store.Change, 1)
	stop, err := d.Watch(ctx, "u", "things", func(c store.Change) { heard <- c })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	cancel()
	write(t, d, put("a", store.Fields{}))
	if got := next(t, heard); got.Lost || got.Ref != at("a") {
		t.Errorf("received %+v", got)
	}
}

func TestAClosedDriverEndsItsWatchersAndRefusesNewOnes(t *testing.T) {
	t.Parallel()
	d := open(t, emulated(t))
	watch(t, d, "things")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Watch(t.Context(), "u", "things", func(store.Change) {}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("got %v", err)
	}
}
