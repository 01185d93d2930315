package elenchus

import (
	"context"
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/store"
)

func (c *fixture) put(id string, v Session) {
	c.t.Helper()
	err := c.DB.User("u").Update(c.t.Context(), func(_ context.Context, tx *store.Tx) error {
		sessions.Put(tx, id, v)
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *fixture) sweep(limit int) int {
	c.t.Helper()
	n, err := c.SweepVerifications(c.t.Context(), store.NewAdmin(c.DB), limit)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

func TestASweepStopsVerificationsIdleForAWeek(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		idleOne, busy, ended, converged := c.start(10), c.start(10), c.start(10), c.start(10)
		c.turn(idleOne, RoundInput{})
		c.turn(converged, RoundInput{})
		c.turn(converged, RoundInput{})
		c.Pass(6 * 24 * time.Hour)
		c.turn(busy, RoundInput{})
		if _, err := c.End(t.Context(), alpha, EndInput{ended, "PASS"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Checkpoint(t.Context(), alpha, CheckpointInput{SessionID: busy}); err != nil {
			t.Fatal(err)
		}
		if n := c.sweep(10); n != 0 {
			t.Errorf("%d too early", n)
		}
		c.Pass(24 * time.Hour)
		if n := c.sweep(1); n != 1 {
			t.Errorf("%d, at most 1", n)
		}
		if n := c.sweep(10); n != 1 {
			t.Errorf("%d left", n)
		}
		for id, want := range map[string]Status{
			idleOne: ForcedStop, busy: Converging, ended: Completed, converged: Converged,
		} {
			if v := c.session(id); v.Status != want || v.EndedAt.IsZero() != (id == busy) {
				t.Errorf("%s, ended at %s; want %s", v.Status, v.EndedAt, want)
			}
		}
		if _, err := c.End(t.Context(), alpha, EndInput{idleOne, "CONDITIONAL"}); err != nil {
			t.Errorf("one that was stopped cannot be ended: %v", err)
		}
		// A verification that continues after it was stopped is stopped again when it is idle again.
		c.Pass(6 * 24 * time.Hour)
		if n := c.sweep(10); n != 1 || c.session(busy).Status != ForcedStop {
			t.Errorf("%d swept, %s", n, c.session(busy).Status)
		}
		if _, err := c.Rollback(t.Context(), alpha, RollbackInput{busy, 1}); err != nil {
			t.Fatal(err)
		}
		if v := c.session(busy); v.Status != Converging || !v.EndedAt.IsZero() {
			t.Errorf("%s, ended at %s", v.Status, v.EndedAt)
		}
		c.Pass(7 * 24 * time.Hour)
		if n := c.sweep(10); n != 1 || c.session(busy).Status != ForcedStop {
			t.Errorf("%d swept, %s", n, c.session(busy).Status)
		}
	})
}

// below counts the documents below a verification.
func (c *fixture) below(id string) (n int) {
	c.t.Helper()
	t := c.DB.User("u")
	v := 0
	for _, q := range []func() (int, error){
		func() (int, error) { return size(t, rounds.Under(id), "tick desc", c) },
		func() (int, error) { return size(t, steps.Under(id), "tick desc", c) },
		func() (int, error) { return size(t, files.Under(id), "path", c) },
		func() (int, error) { return size(t, issues.Under(id), "number", c) },
		func() (int, error) { return size(t, checkpoints.Under(id), "round", c) },
	} {
		got, err := q()
		if err != nil {
			c.t.Fatal(err)
		}
		n += got
	}
	for tick := range int64(80) {
		fetches := []*store.Fetch{outputs.Under(id).Fetch(tickID(tick), new(output))}
		for i := range 30 {
			for _, p := range []string{"a.ts", fmt.Sprintf("f%d.ts", i)} {
				fetches = append(fetches, contents.Under(id).Fetch(contentID(File{Path: p, Tick: tick}), new(content)))
			}
		}
		if err := store.Load(c.t.Context(), t, fetches...); err != nil {
			c.t.Fatal(err)
		}
		for i, f := range fetches {
			if f.Found && (i < 3 || i%2 == 0) {
				v++
			}
		}
	}
	return n + v
}

func size[T any](t *store.Tenant, coll store.Collection[T], order string, c *fixture) (int, error) {
	page, err := coll.Query(c.t.Context(), t, store.Query{Order: []string{order}, Limit: store.MaxLimit})
	return len(page.Docs), err
}

func TestASweepDeletesOldVerificationsWithoutOrphans(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id, young := c.start(20, "a.ts", "0"), c.start(20, "a.ts", "0")
		// The checkpoint keeps the first text. Once that is replaced, only a step refers to it.
		if _, err := c.Checkpoint(t.Context(), alpha, CheckpointInput{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			c.turn(id, RoundInput{
				IssuesRaised: fresh(Critical, "A", fmt.Sprintf("B%d", i)),
				Files:        pairs([]string{"a.ts", fmt.Sprint(i), fmt.Sprintf("f%d.ts", i), ""}),
			})
			if i == 7 {
				if _, err := c.Rollback(t.Context(), alpha, RollbackInput{id, 4}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := c.below(id); n < 40 {
			t.Fatalf("%d documents", n)
		}
		if _, err := c.End(t.Context(), alpha, EndInput{id, "PASS"}); err != nil {
			t.Fatal(err)
		}
		c.Pass(90*24*time.Hour - time.Second)
		c.sweep(10)
		if _, err := c.GetContext(t.Context(), alpha, ContextInput{SessionID: id}); err != nil {
			t.Fatalf("a second too early: %v", err)
		}
		c.Pass(time.Second)
		// A deletion is interrupted. No call finds the session that it has marked, and the next sweep continues.
		c.set(id, func(v *Session) { v.Purging = true })
		if _, err := c.GetContext(t.Context(), alpha, ContextInput{SessionID: id}); err == nil {
			t.Error("it is found while it is deleted")
		}
		if list, err := c.List(t.Context(), alpha, ListInput{}); err != nil || len(list.Sessions) != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		if n := c.sweep(10); n != 1 {
			t.Errorf("%d swept", n)
		}
		if n := c.below(id); n != 0 {
			t.Errorf("%d orphans", n)
		}
		if v := c.session(young); v.Status != ForcedStop || c.below(young) != 2 {
			t.Errorf("%+v, %d documents", v, c.below(young))
		}
		if _, err := c.GetContext(t.Context(), alpha, ContextInput{SessionID: id}); err == nil {
			t.Error("it is still there")
		}
	})
}
