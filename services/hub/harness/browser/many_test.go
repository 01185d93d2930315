package browser_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
	"parley.internal/shared/task"
)

// many is the number of tasks in the store of someone whose agents are busy.
const many = 10_000

// withManyTasks returns a user with many tasks, a tenth of them failed and a tenth blocked.
func withManyTasks(t *testing.T) *user {
	t.Helper()
	db := storetest.SQLite(t, app.Schema())
	now := time.Now().UTC().Truncate(time.Microsecond)
	for first := 0; first < many; first += 500 {
		hubtest.Must(t, db.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			for n := first; n < first+500; n++ {
				x := task.Task{Type: task.Work, Title: fmt.Sprintf("Task %d of the long list", n), Status: task.Created,
					Priority: task.Normal, Source: "alpha", Target: fmt.Sprintf("agent%d", n%40), CreatedAt: now.Add(-time.Duration(n) * time.Second),
					Instructions: fmt.Sprintf("Read the module %d, then write down what it promises and what it does not hold.", n*7919)}
				switch n % 10 {
				case 1:
					x.End(task.Failed, now)
					x.Outcome, x.Result = task.Failed, fmt.Sprintf("exit status %d in step %d", n%7, n%31)
				case 2:
					x.Status, x.Note = task.Blocked, "It waits for the schema."
				}
				x.Route()
				task.Tasks.Put(tx, fmt.Sprintf("t%05d", n), x)
			}
			return nil
		}))
	}
	return &user{hubtest.NewUserOn(t, db, hubtest.Options{}), t}
}

// received counts the bytes of all answers to a tab from now on, as they are on the wire.
func (b *tab) received(t *testing.T) *int64 {
	t.Helper()
	total := new(int64)
	_, err := chromedp.Call(b.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	hubtest.Must(t, err)
	hubtest.Must(t, chromedp.Listen(b.ctx, func(event any) {
		if e, is := event.(*network.EventLoadingFinished); is {
			b.mu.Lock()
			*total += int64(e.EncodedDataLength)
			b.mu.Unlock()
		}
	}))
	return total
}

func TestTenThousandTasksFillNoMoreThanAWindow(t *testing.T) {
	t.Parallel()
	u := withManyTasks(t)
	b := u.console(u.Hub.URL, "/")
	b.sees("#trouble h3", "of the long list")
	for _, v := range []struct {
		path, sel string
		items     int
	}{{"/", "#trouble li", 40}, {"/work", ".rows li", 100}, {"/work?state=all", ".rows li", 50}, {"/agents", "#sum", 1}} {
		total := b.received(t)
		began := time.Now()
		b.open(u.Hub.URL + v.path)
		b.holds(fmt.Sprintf("document.querySelectorAll(%q).length === %d && document.querySelector(%q).checkVisibility()",
			v.sel, v.items, v.sel))
		took := time.Since(began)
		b.mu.Lock()
		size := *total
		b.mu.Unlock()
		nodes := eval[int](b, "document.querySelectorAll('*').length")
		t.Logf("%s: %d bytes, %d elements, seen after %d ms", v.path, size, nodes, took.Milliseconds())
		if size == 0 || size > 100_000 {
			t.Errorf("%s receives %d bytes, want at most 100,000", v.path, size)
		}
		if nodes > 1500 {
			t.Errorf("%s has %d elements, want at most 1,500", v.path, nodes)
		}
	}
	b.open(u.Hub.URL + "/work?state=created")
	b.sees("#further", "Show more")
	b.click("#further")
	b.holds("document.querySelectorAll('.rows li').length === 100")
}
