package storetest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

func abortsFirst(t *testing.T, db *store.DB) {
	u := db.User("u")
	runs := 0
	err := u.Update(t.Context(), func(c ctx, tx *store.Tx) error {
		runs++
		var v item
		f := items.Fetch("a", &v)
		if err := store.Load(c, tx, f); err != nil {
			return err
		}
		if f.Found {
			t.Error("the aborted attempt left its document")
		}
		v.Count++
		items.Put(tx, "a", v)
		return nil
	})
	if err != nil || runs != 2 {
		t.Fatalf("%d runs, %v", runs, err)
	}
	if v, err := items.Get(t.Context(), u, "a"); err != nil || v.Count != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
}

func competing(t *testing.T, db *store.DB) {
	u := db.User("u")
	put(t, u, map[string]item{"prize": {Status: "open"}})
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			err := u.Update(t.Context(), func(c ctx, tx *store.Tx) error {
				v, err := items.Get(c, tx, "prize")
				if err != nil {
					return err
				}
				if v.Status != "open" {
					return fault.New(fault.Precondition, "taken")
				}
				v.Status, v.Count = "taken", v.Count+1
				items.Put(tx, "prize", v)
				return nil
			})
			switch {
			case err == nil:
				won.Add(1)
			case fault.Is(err, fault.Precondition):
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	v, err := items.Get(t.Context(), u, "prize")
	if won.Load() != 1 || lost.Load() != 15 || err != nil || v.Count != 1 {
		t.Fatalf("%d won, %d lost, %+v, %v", won.Load(), lost.Load(), v, err)
	}
}

func consuming(t *testing.T, db *store.DB) {
	u, open := db.User("u"), store.Query{Where: []store.Cond{store.Eq("status", "open")}, Limit: 1}
	put(t, u, map[string]item{"a": {Status: "open"}, "b": {Status: "open"}, "c": {Status: "open"}})
	var got, none atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			took := false
			err := u.Consume(t.Context(), func(c ctx, r store.Reader) (bool, error) {
				page, err := items.Query(c, r, open)
				return len(page.Docs) > 0, err
			}, func(c ctx, tx *store.Tx) error {
				page, err := items.Query(c, tx, open)
				took = len(page.Docs) > 0
				for _, d := range page.Docs {
					d.Value.Status, d.Value.Count = "taken", d.Value.Count+1
					items.Put(tx, d.ID, d.Value)
				}
				return err
			})
			switch {
			case err != nil:
				t.Error(err)
			case took:
				got.Add(1)
			default:
				none.Add(1)
			}
		})
	}
	wg.Wait()
	if got.Load() != 3 || none.Load() != 13 {
		t.Errorf("%d got a document and %d none", got.Load(), none.Load())
	}
	for _, id := range []string{"a", "b", "c"} {
		if v, err := items.Get(t.Context(), u, id); err != nil || v.Count != 1 {
			t.Errorf("%s was taken %d times, %v", id, v.Count, err)
		}
	}
}

func counters(t *testing.T, db *store.DB) {
	u := db.User("u")
	put(t, u, map[string]item{"n": {}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if err := u.Update(t.Context(), func(_ ctx, tx *store.Tx) error {
					items.Patch(tx, "n", store.Add("count", 1))
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if v, err := items.Get(t.Context(), u, "n"); err != nil || v.Count != 40 {
		t.Fatalf("%+v, %v", v, err)
	}
}

// following commits two writers out of order: the one that made its id and time first commits last. Its number is
// assigned from the parent inside the transaction, so a reader that follows the numbers does not miss it.
func following(t *testing.T, db *store.DB) {
	u := db.User("u")
	put(t, u, map[string]item{"fire": {}})
	say := func(id string, made time.Time) {
		t.Helper()
		err := u.Update(t.Context(), func(c ctx, tx *store.Tx) error {
			fire, err := items.Get(c, tx, "fire")
			if err != nil {
				return err
			}
			fire.Next++
			items.Put(tx, "fire", fire)
			messages.Under("fire").Create(tx, id, item{Next: fire.Next, CreatedAt: made})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	seen, at := []string{}, 0
	follow := func() {
		t.Helper()
		q := store.Query{Where: []store.Cond{store.Gt("next", at)}, Order: []string{"next"}, Limit: 10}
		page, err := messages.Under("fire").Query(t.Context(), u, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Docs {
			seen, at = append(seen, d.ID), d.Value.Next
		}
	}
	held, madeAt := "a-made-first", t0
	say("b-made-later", t0.Add(time.Second))
	follow()
	say(held, madeAt)
	say("c", t0.Add(2*time.Second))
	follow()
	follow()
	if want := []string{"b-made-later", "a-made-first", "c"}; !reflect.DeepEqual(seen, want) {
		t.Fatalf("seen %v", seen)
	}
}

// waiting starts a wait for an open item. For every check it sends whether the listener was ready; to over it sends the
// result of the wait.
func waiting(t *testing.T, db *store.DB, user string, d time.Duration) (looks chan bool, over chan error) {
	looks, over = make(chan bool, 100), make(chan error, 1)
	u := db.User(user)
	where := []store.Cond{store.Eq("status", "open")}
	go func() {
		over <- items.Wait(t.Context(), u, where, d, func(c context.Context) (bool, error) {
			page, err := items.Query(c, u, store.Query{Where: where, Limit: 1})
			looks <- store.Listening(c)
			return len(page.Docs) > 0, err
		})
	}()
	return looks, over
}

// listening waits for a check with a ready listener and returns the number of checks until then.
func listening(t *testing.T, looks chan bool) int {
	t.Helper()
	for n := 1; ; n++ {
		select {
		case listens := <-looks:
			if listens {
				return n
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the wait never listened")
		}
	}
}

func over(t *testing.T, ch chan error) {
	t.Helper()
	select {
	case err := <-ch:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the wait goes on")
	}
}

func waitWakes(t *testing.T, db *store.DB) {
	put(t, db.User("u"), map[string]item{"x": {Status: "closed"}})
	looks, ended := waiting(t, db, "u", time.Minute)
	_, ended2 := waiting(t, db, "u", time.Minute)
	listening(t, looks)
	put(t, db.User("other"), map[string]item{"x": {Status: "open"}})
	put(t, db.User("u"), map[string]item{"y": {Status: "closed"}})
	select {
	case err := <-ended:
		t.Fatalf("woken by a change that does not match: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	put(t, db.User("u"), map[string]item{"x": {Status: "open"}})
	over(t, ended)
	over(t, ended2)
	// A wait that joins a ready listener checks once; another checks a second time when its listener is ready.
	put(t, db.User("u"), map[string]item{"x": {Status: "closed"}})
	looks, ended = waiting(t, db, "u", time.Minute)
	if n := listening(t, looks); n != 1 {
		t.Fatalf("%d checks with a ready listener", n)
	}
	if looks, _ := waiting(t, db, "new", time.Minute); listening(t, looks) != 2 {
		t.Fatal("no check before the listener was ready")
	}
	put(t, db.User("u"), map[string]item{"x": {Status: "open"}})
	over(t, ended)
	// A wait that is satisfied already ends at once.
	_, ended = waiting(t, db, "u", time.Minute)
	over(t, ended)
}

func takeTurns(t *testing.T, db *store.DB) {
	const n = 12
	u := db.User("u")
	put(t, u, map[string]item{"x": {}})
	in := store.InTurn(t.Context(), "x")
	var runs atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			err := u.Update(in, func(c ctx, tx *store.Tx) error {
				runs.Add(1)
				x, err := items.Get(c, tx, "x")
				x.Count++
				items.Put(tx, "x", x)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if x, err := items.Get(t.Context(), u, "x"); err != nil || x.Count != n || runs.Load() != n {
		t.Errorf("%d transactions ran %d times and counted %d, %v", n, runs.Load(), x.Count, err)
	}
}

func waitOnDistributor(t *testing.T, db *store.DB) {
	const many = 5
	u, given := db.User("u"), make(chan store.Doc[item], 10*many)
	distributor := store.NewDistributor(func(user string, d store.Doc[item]) {
		if user == "u" {
			given <- d
		}
	})
	where := func(route string) []store.Cond {
		return []store.Cond{store.Eq("status", "open"), store.ContainsAny("routes", route, "all")}
	}
	looks, ends := make(chan bool, 10*many), make(chan error, many)
	end := make(chan struct{})
	for i := range many {
		go func() {
			ends <- items.WaitOn(store.WithEnd(t.Context(), end), distributor, u, where(fmt.Sprint(i)), time.Minute,
				func(c context.Context) (bool, error) { looks <- store.Listening(c); return false, nil })
		}()
		listening(t, looks)
	}
	woken, ended := waiting(t, db, "u", time.Minute) // beside the distributor
	listening(t, woken)
	for len(looks) > 0 {
		<-looks
	}
	for _, put1 := range []struct {
		id, status, route string
		given             bool
	}{{"a", "open", "all", true}, {"b", "closed", "all", false}, {"c", "open", "other", false}, {"d", "open", "3", true}} {
		put(t, u, map[string]item{put1.id: {Status: put1.status, Routes: []string{put1.route}, Count: 7}})
		if !put1.given {
			continue
		}
		select {
		case d := <-given:
			if d.ID != put1.id || d.Value.Count != 7 || d.Value.Routes[0] != put1.route {
				t.Errorf("given %+v, want %s", d, put1.id)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the distributor is not given %s", put1.id)
		}
	}
	over(t, ended)
	close(end)
	for range many {
		over(t, ends)
	}
	if len(given)+len(looks) > 0 {
		t.Errorf("given %d documents too many; %d looks were needless", len(given), len(looks))
	}
}

func waitEnds(t *testing.T, db *store.DB) {
	_, ended := waiting(t, db, "u", 10*time.Millisecond)
	over(t, ended)
	looks, ended := waiting(t, db, "u", time.Minute)
	listening(t, looks)
	db.Drain()
	over(t, ended)
	_, ended = waiting(t, db, "u", time.Minute)
	over(t, ended)
}

func manyUsersWait(t *testing.T, db *store.DB) {
	ends := map[string]chan error{}
	for i := range 100 {
		user := fmt.Sprint("u", i)
		looks, ended := waiting(t, db, user, 2*time.Minute)
		listening(t, looks)
		ends[user] = ended
	}
	for user, ended := range ends {
		select {
		case err := <-ended:
			t.Fatalf("the wait of %s has ended: %v", user, err)
		default:
		}
		put(t, db.User(user), map[string]item{"wanted": {Status: "open"}})
		over(t, ended)
	}
}

func waitCap(t *testing.T, db *store.DB) {
	for _, user := range []string{"a", "b"} {
		looks, _ := waiting(t, db, user, time.Minute)
		listening(t, looks)
	}
	_, ended := waiting(t, db, "c", time.Minute)
	err := <-ended
	if !fault.Is(err, fault.Unavailable) || fault.From(err).RetryAfter <= 0 {
		t.Fatalf("a third listener: %v", err)
	}
	db.Drain()
}

func waitBelow(t *testing.T, db *store.DB) {
	err := messages.Under("a").Wait(t.Context(), db.User("u"), nil, 0, func(context.Context) (bool, error) { return true, nil })
	if !fault.Is(err, fault.Internal) {
		t.Errorf("got %v, want a fault of the program", err)
	}
}

func waitIsEnded(t *testing.T, db *store.DB) {
	for name, ends := range map[string]func(chan struct{}) context.Context{
		"the first channel":  func(end chan struct{}) context.Context { return store.WithEnd(t.Context(), end) },
		"the second channel": func(end chan struct{}) context.Context { return store.WithEnd(t.Context(), nil, end) },
	} {
		end := make(chan struct{})
		ctx, looks := ends(end), 0
		err := items.Wait(ctx, db.User("u"), nil, time.Minute, func(ctx context.Context) (bool, error) {
			if looks++; store.Listening(ctx) {
				close(end)
			}
			return false, nil
		})
		if err != nil || looks == 0 || !store.Ended(ctx) || store.Ended(t.Context()) {
			t.Errorf("%s: got %v after %d looks, ended %v", name, err, looks, store.Ended(ctx))
		}
	}
}
