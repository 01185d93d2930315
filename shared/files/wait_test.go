package files

import (
	"context"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/task"
)

// wait starts a call that waits for paths, and returns once it has its turn.
func (d *desk) wait(who string, mode Mode, waiters int, paths ...string) <-chan error {
	d.t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := d.Reserve(d.t.Context(), callerOf(who), ReserveInput{Paths: paths, Mode: mode, WaitMs: 50_000,
			SessionID: session(who)})
		done <- err
	}()
	domaintest.Eventually(d.t, who+" waits", func() bool { return len(d.board().Waiters) == waiters })
	return done
}

func (d *desk) release(who string) {
	d.t.Helper()
	in := ReleaseInput{Project: app, SessionID: session(who)}
	domaintest.Check(d.t, domaintest.Retry(d.t.Context(), func() error {
		_, err := d.Release(d.t.Context(), callerOf(who), in)
		return err
	}))
}

func TestWaitersAreServedInTheirOrder(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "src/")
		second := d.wait("beta", Exclusive, 1, "src/a.go", "docs/")
		third := d.wait("gamma", Exclusive, 2, "docs/x.md", "web/")
		// Nobody passes a waiter whose paths overlap; others do not wait.
		if err := d.refuses("delta", "docs/x.md"); !strings.Contains(err.Error(), `"beta" has waited for src/a.go, docs/`) ||
			!strings.Contains(err.Error(), "because others wait for 1 of the 1 paths") ||
			!strings.Contains(err.Error(), "Reach who waits before you with ") || !strings.Contains(err.Error(), ` to "beta"`) {
			t.Errorf("%v", err)
		}
		if err := d.refuses("delta", "docs/x.md", "src/b.go"); !strings.Contains(err.Error(), "others hold or wait for 2 of the 2 paths") {
			t.Errorf("%v", err)
		}
		d.takes("delta", "lib/")
		d.release("alpha")
		domaintest.Check(t, <-second)
		d.holds("delta lib/ | beta src/a.go | beta docs/")
		d.release("beta")
		domaintest.Check(t, <-third)
		d.holds("delta lib/ | gamma docs/x.md | gamma web/")
		if b := d.board(); len(b.Waiters) != 0 {
			t.Errorf("there wait %+v", b.Waiters)
		}
	})
}

func TestSharedReservationsDoNotStarveAWaitingExclusiveOne(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		share := ReserveInput{Paths: []string{"src/"}, Mode: Shared}
		domaintest.Must(d.Reserve(t.Context(), alpha, share))(t)
		writer := d.wait("beta", Exclusive, 1, "src/a.go")
		_, err := d.Reserve(t.Context(), gamma, share)
		domaintest.Refused(t, "a shared one behind it", err, fault.Precondition, `"beta" has waited for src/a.go (exclusive)`)
		domaintest.Must(d.Reserve(t.Context(), alpha, share))(t) // a holder may extend its reservation
		reader := d.wait("gamma", Shared, 2, "src/")
		d.release("alpha")
		domaintest.Check(t, <-writer)
		d.holds("beta src/a.go")
		d.release("beta")
		domaintest.Check(t, <-reader)
		d.holds("gamma src/")
	})
}

func TestAWaitEndsWithTheHoldersTaskOrSession(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		for name, end := range map[string]func(){
			"task":    func() { d.setTask("task", task.Failed) },
			"session": func() { d.setLife("alpha.1", life{Ended: true}) },
		} {
			d.setTask("task", task.Created)
			d.setLife("alpha.1", life{})
			domaintest.Must(d.Reserve(t.Context(), alpha,
				ReserveInput{Paths: []string{"src/"}, TaskID: "task", SessionID: "alpha.1"}))(t)
			waiter := d.wait("beta", Exclusive, 1, "src/a.go")
			end()
			if err := <-waiter; err != nil {
				t.Errorf("%s: %v", name, err)
			}
			d.holds("beta src/a.go")
			d.release("beta")
		}
	})
}

func TestAWaitEndsWithTheHoldersLease(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.Service.Now = func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
		in := ReserveInput{Paths: []string{"src/"}, LeaseSeconds: 2, Project: app, Mode: Exclusive}
		domaintest.Must(d.Service.Reserve(t.Context(), alpha, in))(t)
		domaintest.Check(t, <-d.wait("beta", Exclusive, 1, "src/a.go"))
		d.holds("beta src/a.go")
	})
}

func TestAWaitInVainKeepsItsPlaceForARepeatedCall(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "src/")
		in := ReserveInput{Paths: []string{"src/a.go"}, WaitMs: 1000}
		_, err := d.Reserve(t.Context(), beta, in)
		domaintest.Refused(t, "a wait in vain", err, fault.Precondition, `"alpha" holds src/`, "within 1 s to keep your place")
		d.release("alpha")
		d.refuses("gamma", "src/")
		domaintest.Must(d.Reserve(t.Context(), beta, in))(t)
		d.release("beta")

		d.takes("alpha", "src/")
		_, err = d.Reserve(t.Context(), beta, in)
		domaintest.Refused(t, "a second wait", err, fault.Precondition)
		d.release("alpha")
		d.Pass(2 * time.Second)
		d.takes("gamma", "src/")
	})
}

func TestACallThatIsGivenUpLeavesItsPlace(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "src/")
		for name, begin := range map[string]func() (context.Context, func()){
			"whose connection ends": func() (context.Context, func()) { return context.WithCancel(t.Context()) },
			"that is cancelled": func() (context.Context, func()) {
				end := make(chan struct{})
				return store.WithEnd(t.Context(), end), func() { close(end) }
			},
		} {
			ctx, giveUp := begin()
			done := make(chan error)
			go func() {
				_, err := d.Service.Reserve(ctx, beta,
					ReserveInput{Project: app, Paths: []string{"src/"}, Mode: Exclusive, LeaseSeconds: 60, WaitMs: 50_000})
				done <- err
			}()
			domaintest.Eventually(t, "it waits", func() bool { return len(d.board().Waiters) == 1 })
			giveUp()
			if err := <-done; err == nil {
				t.Errorf("a call %s succeeds", name)
			}
			if b := d.board(); len(b.Waiters) != 0 {
				t.Errorf("after a call %s there wait %+v", name, b.Waiters)
			}
		}
	})
}

func TestAWaitEndsAtOnceWhenTheServerStops(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.takes("alpha", "src/")
		waiter := d.wait("beta", Exclusive, 1, "src/")
		d.DB.Drain()
		domaintest.Refused(t, "the wait", <-waiter, fault.Precondition, "keep your place")
	})
}

// hubs opens two databases on one store, as two servers do. On SQLite, which one process has, they are one.
func hubs(t *testing.T, kind string) [2]*desk {
	t.Helper()
	var out [2]*desk
	project := emulator.Project(t)
	for i := range out {
		if kind == "sqlite" && i == 1 {
			out[1] = over(t, out[0].DB)
			break
		}
		var driver store.Driver
		var err error
		if kind == "sqlite" {
			driver, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), schema())
		} else {
			driver, err = firestore.Open(t.Context(), firestore.Options{EmulatorHost: emulator.Shared(t), Project: project})
		}
		domaintest.Check(t, err)
		db := store.New(driver, schema())
		t.Cleanup(func() { domaintest.Check(t, db.Close()) })
		out[i] = over(t, db)
	}
	return out
}

func TestWaitersOfTwoServersAreServedInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "firestore"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := hubs(t, path.Base(t.Name()))
			h[0].takes("alpha", "src/")
			first := h[1].wait("beta", Exclusive, 1, "src/a.go")
			second := h[0].wait("gamma", Exclusive, 2, "src/")
			h[0].release("alpha")
			domaintest.Check(t, <-first)
			h[0].holds("beta src/a.go")
			h[1].release("beta")
			domaintest.Check(t, <-second)
			h[1].holds("gamma src/")
		})
	}
}
