package campfire

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

func (k *fixture) read(in MessagesInput) MessagesOutput {
	k.t.Helper()
	in.FireID = here
	out, err := k.Messages(k.t.Context(), unbound, in)
	k.check(err)
	return out
}

func texts(out MessagesOutput) string {
	var all []string
	for _, m := range out.Messages {
		all = append(all, m.Text)
	}
	return strings.Join(all, " ")
}

func TestMessagesAreReadInOrderOfArrival(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		if out := k.read(MessagesInput{}); out.Messages == nil || len(out.Messages) != 0 || out.NextCursor != "0" ||
			out.More {
			t.Errorf("%+v", out)
		}
		for i := range 12 {
			k.check(k.post(strconv.Itoa(i)))
		}
		if out := k.read(MessagesInput{}); texts(out) != "0 1 2 3 4 5 6 7 8 9 10 11" || out.NextCursor != "12" ||
			out.More {
			t.Errorf("%s, %+v", texts(out), out)
		}
		cursor, got := "", ""
		for _, more := range []bool{true, true, false} {
			out := k.read(MessagesInput{Cursor: cursor, Limit: 5})
			got, cursor = got+texts(out)+" ", out.NextCursor
			if out.More != more {
				t.Errorf("after %s: more is %t", cursor, out.More)
			}
		}
		if got != "0 1 2 3 4 5 6 7 8 9 10 11 " {
			t.Errorf("the pages are %s", got)
		}
		if out := k.read(MessagesInput{Cursor: cursor, WaitMs: 1}); len(out.Messages) != 0 || out.NextCursor != cursor {
			t.Errorf("%+v", out)
		}
	})
}

func TestAnUnknownCursorIsRefused(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		k.check(k.post("x"))
		for _, cursor := range []string{"2", "-1", "x", "1.5", "99999999999999999999"} {
			in := MessagesInput{FireID: here, Cursor: cursor, WaitMs: 55_000}
			if err := domaintest.Err(k.Messages(t.Context(), unbound, in)); domaintest.Fields(err) != "cursor" {
				t.Errorf("messages after %q: %v", cursor, err)
			}
		}
		for _, cursor := range []string{"-1", "x"} {
			in := DuelsInput{FireID: here, Cursor: cursor}
			if err := domaintest.Err(k.Duels(t.Context(), unbound, in)); domaintest.Fields(err) != "cursor" {
				t.Errorf("duels after %q: %v", cursor, err)
			}
		}
	})
}

// watched is a driver that reports the start of each watch, and runs then after the next query outside a transaction.
type watched struct {
	store.Driver
	began chan string
	then  func()
}

func (d *watched) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	raws, err := d.Driver.Query(ctx, p)
	if then := d.then; then != nil {
		d.then = nil
		then()
	}
	return raws, err
}

func (d *watched) Watch(ctx context.Context, user, coll string, tell func(store.Change)) (func(), error) {
	stop, err := d.Driver.Watch(ctx, user, coll, tell)
	select {
	case d.began <- coll:
	default:
	}
	return stop, err
}

// eachWatched runs a test on both stores, with the driver that reports watches.
func eachWatched(t *testing.T, test func(t *testing.T, k *fixture, d *watched)) {
	t.Helper()
	watch := func(inner store.Driver) *watched { return &watched{Driver: inner, began: make(chan string, 10)} }
	domaintest.EachOver(t, schema(), watch, func(t *testing.T, db *store.DB, d *watched) { test(t, over(t, db), d) })
}

func TestAWaitingReaderIsWokenByTheFirstNewMessage(t *testing.T) {
	eachWatched(t, func(t *testing.T, k *fixture, d *watched) {
		k.light()
		k.check(k.post("old"))
		got := make(chan MessagesOutput, 1)
		go func() {
			out, err := k.Messages(t.Context(), unbound, MessagesInput{FireID: here, Cursor: "1", WaitMs: 50_000})
			if err != nil {
				t.Error(err)
			}
			got <- out
		}()
		if coll := <-d.began; coll != "fires" {
			t.Errorf("it watches %s", coll)
		}
		k.check(domaintest.Err(k.GetOrCreate(t.Context(), unbound, FireInput{FireID: "another"})))
		k.check(domaintest.Err(k.Post(t.Context(), unbound, PostInput{FireID: "another", Text: "elsewhere"})))
		k.check(k.post("new"))
		if out := <-got; texts(out) != "new" || out.NextCursor != "2" {
			t.Errorf("%+v", out)
		}
	})
}

// Readers that follow concurrent writers receive every message once, in the same order.
func TestAFollowerMissesAndRepeatsNothing(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		writers, each, readers := domaintest.Crowd(t, 3, 2), domaintest.Crowd(t, 4, 3), 3
		k.light()
		var writing, reading sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				for i := range each {
					err := domaintest.Retry(t.Context(), func() error { return k.post(fmt.Sprintf("%d.%d", w, i)) })
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen := make([]string, readers)
		for r := range readers {
			reading.Go(func() {
				cursor, n := "", 0
				for n < writers*each {
					out, err := k.Messages(t.Context(), unbound,
						MessagesInput{FireID: here, Cursor: cursor, Limit: 1 + 3*r, WaitMs: 55_000})
					if err != nil || len(out.Messages) == 0 {
						t.Errorf("after %q: %+v, %v", cursor, out, err)
						return
					}
					cursor, n = out.NextCursor, n+len(out.Messages)
					seen[r] += texts(out) + " "
				}
			})
		}
		writing.Wait()
		reading.Wait()
		whole := k.read(MessagesInput{Limit: 100})
		for r, got := range seen {
			if got != texts(whole)+" " {
				t.Errorf("reader %d saw %s, of %s", r, got, texts(whole))
			}
		}
		next := map[string]int{} // The messages of one writer keep their order.
		for i, m := range whole.Messages {
			w, n, _ := strings.Cut(m.Text, ".")
			if n != strconv.Itoa(next[w]) || m.Seq != int64(i+1) {
				t.Errorf("message %d is %+v", i, m)
			}
			next[w]++
		}
		if len(whole.Messages) != writers*each {
			t.Errorf("%d messages", len(whole.Messages))
		}
	})
}

func TestAWaitAtAnUnknownFireEndsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		_, err := k.Messages(t.Context(), unbound, MessagesInput{FireID: here, Cursor: "7", WaitMs: 55_000})
		domaintest.Says(t, "wait", err, fault.NotFound, "Fire with id 'f' does not exist.")
	})
}
