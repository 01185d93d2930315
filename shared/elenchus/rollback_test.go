package elenchus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// seen is the state that a rollback restores, as callers see it.
type seen struct {
	State  State
	Issues map[string]IssueView
	Texts  map[string]string
}

func (c *fixture) seen(id string) seen {
	c.t.Helper()
	return seen{c.session(id).State, c.all(id), c.texts(id)}
}

// same reports whether two states are equal. It does not distinguish empty and nil lists.
func same(a, b seen) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }

// randomChange makes a random change of a verification.
func (c *fixture) randomChange(id string, r *rand.Rand) {
	c.t.Helper()
	c.Pass(time.Second)
	v := c.session(id)
	some := func(n int) (out []string) {
		for range r.Intn(n) {
			if k := fmt.Sprintf("COR-%d", r.Intn(8)); !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
		return out
	}
	texts := func(n int) (out []FileInput) {
		for i := range r.Intn(n) {
			out = append(out, FileInput{fmt.Sprintf("f%d.ts", (r.Intn(3)+i)%6*7+i), fmt.Sprint(r.Intn(4))})
		}
		return out
	}
	switch pick := r.Intn(10); {
	case pick < 6 && !v.Over():
		in := RoundInput{IssuesRaised: fresh(severities[r.Intn(4)], some(4)...), Files: texts(3)}
		for _, k := range some(4) {
			if !slices.ContainsFunc(in.IssuesRaised, func(i IssueInput) bool { return i.ID == k }) {
				in.IssuesResolved = append(in.IssuesResolved, k)
			}
		}
		c.turn(id, in)
	case pick < 8:
		if given := texts(3); len(given) > 0 {
			if _, err := c.AddFiles(c.t.Context(), alpha, AddInput{id, given}); err != nil {
				c.t.Fatal(err)
			}
		}
	case pick == 8:
		if _, err := c.Checkpoint(c.t.Context(), alpha, CheckpointInput{SessionID: id}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// In random histories, a rollback restores the state that was seen when the checkpoint was taken.
func TestARollbackRestoresTheStateOfItsCheckpoint(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		for seed := range int64(6) {
			r := rand.New(rand.NewSource(seed))
			id := c.start(30, "f0.ts", "base", "f7.ts", "base")
			model := map[int]seen{}
			for range 25 {
				if r.Intn(6) == 0 && len(model) > 0 {
					offered := c.session(id).Checkpoints
					to := offered[r.Intn(len(offered))]
					c.back(id, to, model)
					maps.DeleteFunc(model, func(round int, _ seen) bool { return round > to })
				}
				c.randomChange(id, r)
				v := c.session(id)
				if v.CheckpointTick == v.Tick {
					model[v.CurrentRound] = c.seen(id)
				}
			}
			for _, to := range slices.Backward(slices.Sorted(maps.Keys(model))) {
				c.back(id, to, model)
			}
			rec, err := c.Get(t.Context(), alpha, id)
			if err != nil {
				t.Fatal(err)
			}
			counts := 0
			for _, round := range rec.Rounds {
				if !round.RolledBack {
					if counts++; round.Number != counts {
						t.Errorf("seed %d: round %d counts as the %dth", seed, round.Number, counts)
					}
				}
				if _, err := outputs.Under(id).Get(t.Context(), c.DB.User("u"), tickID(round.Tick)); err != nil {
					t.Errorf("the output of round %d is gone: %v", round.Number, err)
				}
			}
			if counts != rec.CurrentRound {
				t.Errorf("seed %d: %d rounds count, and the record is at %d", seed, counts, rec.CurrentRound)
			}
		}
	})
}

// back rolls back to a round and compares the state with the one seen then.
func (c *fixture) back(id string, to int, model map[int]seen) {
	c.t.Helper()
	out, err := c.Rollback(c.t.Context(), alpha, RollbackInput{id, to})
	if err != nil {
		c.t.Fatal(err)
	}
	got, want := c.seen(id), model[to]
	if !same(got, want) || out.CurrentRound != to || out.Files != len(got.Texts) ||
		!reflect.DeepEqual(out.Checkpoints, append([]int{}, want.State.Checkpoints...)) {
		c.t.Fatalf("back to %d:\n got %+v\nwant %+v", to, got, want)
	}
	counted := newCounts()
	for _, i := range got.Issues {
		open := i.Status == IssueRaised || i.Status == Challenged
		counted.count(Track{Severity: i.Severity, Status: i.Status, Open: open}, 1)
	}
	if !reflect.DeepEqual(counted, got.State.Counts) || got.State.Files != len(got.Texts) {
		c.t.Fatalf("the counters say %+v and %d files, there are %+v and %d", got.State.Counts, got.State.Files,
			counted, len(got.Texts))
	}
}

func TestARollbackNeedsACheckpoint(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		_, err := c.Rollback(t.Context(), alpha, RollbackInput{id, 0})
		domaintest.Says(t, "none yet", err, fault.Precondition,
			"verification "+id+" has no checkpoint of round 0; there is none yet: one is taken on every even round, "+
				"and by elenchus_checkpoint")
		for range 3 {
			c.turn(id, RoundInput{IssuesRaised: fresh(Critical, fmt.Sprintf("A%d", c.session(id).CurrentRound))})
		}
		if cp, err := c.Checkpoint(t.Context(), alpha, CheckpointInput{SessionID: id}); err != nil || cp.Round != 3 {
			t.Errorf("%+v, %v", cp, err)
		}
		for range 2 {
			c.turn(id, RoundInput{IssuesRaised: known("A0")})
		}
		for _, bad := range []int{1, 5, 6, 99} {
			_, err := c.Rollback(t.Context(), alpha, RollbackInput{id, bad})
			domaintest.Says(t, "no checkpoint", err, fault.Precondition,
				fmt.Sprintf("verification %s has no checkpoint of round %d; there is one of round 2, 3, 4", id, bad))
		}
		out, err := c.Rollback(t.Context(), alpha, RollbackInput{id, 2})
		if err != nil || out.Status != Verifying || out.NextRole != Verifier ||
			!slices.Equal(out.Checkpoints, []int{2}) || out.IssuesSummary.Total != 2 {
			t.Errorf("%+v, %v", out, err)
		}
		c.turn(id, RoundInput{})
		_, err = c.Rollback(t.Context(), alpha, RollbackInput{id, 3})
		domaintest.Says(t, "one that was rolled back", err, fault.Precondition,
			"verification "+id+" has no checkpoint of round 3; there is one of round 2")
		if rec, err := c.Get(t.Context(), alpha, id); err != nil || len(rec.Rounds) != 6 || !rec.Rounds[2].RolledBack ||
			rec.Rounds[5].RolledBack || rec.Rounds[5].Number != 3 {
			t.Errorf("%+v, %v", rec, err)
		}
	})
}

func TestAStoppedVerificationContinuesAfterARollback(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(3)
		c.turn(id, RoundInput{IssuesRaised: fresh(Critical, "A")})
		c.turn(id, RoundInput{})
		c.turn(id, RoundInput{})
		if v := c.session(id); v.Status != ForcedStop {
			t.Fatalf("%+v", v)
		}
		if out, err := c.Rollback(t.Context(), alpha, RollbackInput{id, 2}); err != nil || out.Status != Verifying ||
			out.NextRole != Verifier {
			t.Errorf("%+v, %v", out, err)
		}
		if out := c.turn(id, RoundInput{}); out.RoundNumber != 3 {
			t.Errorf("%+v", out)
		}
	})
}

// faulty is a driver that commits a number of transactions and fails all further ones.
type faulty struct {
	store.Driver
	left int
}

func (d *faulty) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	if d.left == 0 {
		return errors.New("the machine is gone")
	}
	d.left--
	return d.Driver.Update(ctx, fn)
}

func TestAnInterruptedRollbackIsFinishedByTheNextCall(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*fixture, string) error{
		"the same": func(c *fixture, id string) error {
			_, err := c.Rollback(c.t.Context(), alpha, RollbackInput{id, 2})
			return err
		},
		"a rollback elsewhere": func(c *fixture, id string) error {
			_, err := c.Rollback(c.t.Context(), alpha, RollbackInput{id, 2})
			return err
		},
		"a checkpoint": func(c *fixture, id string) error {
			_, err := c.Checkpoint(c.t.Context(), alpha, CheckpointInput{SessionID: id})
			return err
		},
		"files": func(c *fixture, id string) error {
			_, err := c.AddFiles(c.t.Context(), alpha, AddInput{id, pairs([]string{"f0.ts", "base"})})
			return err
		},
		"the end": func(c *fixture, id string) error {
			_, err := c.End(c.t.Context(), alpha, EndInput{id, "PASS"})
			return err
		},
		"a round": func(c *fixture, id string) error {
			_, err := c.SubmitRound(c.t.Context(), alpha, RoundInput{SessionID: id, Role: Verifier, Output: "x"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail := func(inner store.Driver) *faulty { return &faulty{Driver: inner, left: -1} }
			db, d := domaintest.SQLiteOver(t, schema(), fail)
			c := over(t, db)
			id := c.start(100, "f0.ts", "base")
			for range 2 {
				c.turn(id, RoundInput{IssuesRaised: fresh(Critical, "COR-0")})
			}
			want := c.seen(id)
			for n := range 3 * backSteps {
				c.turn(id, RoundInput{
					IssuesRaised: fresh(Low, "COR-0", fmt.Sprintf("BUG-%d", n)),
					Files:        pairs([]string{"f0.ts", fmt.Sprint(n), fmt.Sprintf("g%d.ts", n), ""}),
				})
			}
			d.left = 2
			to := 2
			if name == "a rollback elsewhere" {
				// The call asks for round 2 while a rollback to round 20 is in progress.
				to = 20
				d.left = 1
			}
			if _, err := c.Rollback(t.Context(), alpha, RollbackInput{id, to}); err == nil {
				t.Fatal("the rollback was not interrupted")
			}
			d.left = -1
			const format = "a rollback to round %d is not finished: call elenchus_rollback with toRound %d to finish it"
			words := fmt.Sprintf(format, to, to)
			_, err := c.GetIssues(t.Context(), alpha, IssuesInput{SessionID: id})
			domaintest.Says(t, "a read", err, fault.Precondition, words)
			_, err = c.GetContext(t.Context(), alpha, ContextInput{SessionID: id})
			domaintest.Says(t, "a read", err, fault.Precondition, words)
			if err := next(c, id); err != nil {
				t.Fatal(err)
			}
			got := c.seen(id)
			switch name {
			case "the same", "a rollback elsewhere", "files":
				if !same(got, want) {
					t.Errorf("\n got %+v\nwant %+v", got, want)
				}
			default:
				if v := c.session(id); len(got.Issues) != 1 || len(got.Texts) != 1 || v.RollingBack != nil ||
					v.CurrentRound > 3 {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}
