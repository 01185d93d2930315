package sprint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/task"
)

const crowd = 16

func TestOfSixteenConcurrentAgentsOneTakesUpAStory(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1"))
		winners := make(chan string, crowd)
		for _, err := range domaintest.Together(crowd, func(i int) error {
			c := domaintest.Bound("u", fmt.Sprint("agent-", i))
			_, err := y.tell(c, id, "a", "active")
			if err == nil {
				winners <- c.Program
			}
			return err
		}) {
			domaintest.Refused(t, "one that lost", err, fault.Precondition, "is held by")
		}
		if len(winners) != 1 {
			t.Fatalf("%d won", len(winners))
		}
		winner := <-winners
		k := y.kept(docID(id, "a"))
		if l, _ := y.lease(docID(id, "a")); k.ClaimedBy != winner || k.ClaimToken != 1 || l.ClaimedBy != k.ClaimedBy {
			t.Errorf("%s won; kept as %+v, %+v", winner, k, l)
		}
	})
}

// All stories of a wave end concurrently, and one story depends on each of them.
func TestConcurrentCompletionsLoseNoCount(t *testing.T) {
	eachCounted(t, func(t *testing.T, y *yard, d *counted) {
		var plan []Planned
		last := story("last 1")
		for i := range crowd {
			plan = append(plan, story(fmt.Sprintf("s%02d 1", i)))
			last.Dependencies = append(last.Dependencies, plan[i].ID)
		}
		id := y.plan(append(plan, last))
		var wg sync.WaitGroup
		for i := range crowd {
			c, s := domaintest.Bound("u", fmt.Sprint("agent-", i)), plan[i].ID
			wg.Go(func() {
				for _, to := range []string{"active", "complete"} {
					if _, err := y.tell(c, id, s, to); err != nil {
						t.Errorf("%s: %v", s, err)
					}
				}
			})
		}
		wg.Wait()
		if k := y.kept(docID(id, "last")); k.Waits != 0 {
			t.Errorf("the last one waits for %d", k.Waits)
		}
		if v := y.get(id); v.Counts != (Counts{Queued: 1, Complete: crowd}) ||
			!slices.Equal(v.Ready, []string{"last"}) || d.to(id) != 1 {
			t.Errorf("%+v, ready %v, the sprint was written %d times", v.Counts, v.Ready, d.to(id))
		}
		if out := y.do(beta, id, "last", "active", "complete"); out.Sprint != task.Completing || d.to(id) != 2 {
			t.Errorf("%+v, the sprint was written %d times", out, d.to(id))
		}
	})
}

// The last stories of a sprint end concurrently: the last commit makes the sprint completing.
func TestConcurrentEndsMakeASprintCompletingOnce(t *testing.T) {
	eachCounted(t, func(t *testing.T, y *yard, d *counted) {
		var plan []Planned
		for i := range crowd {
			plan = append(plan, story(fmt.Sprintf("s%02d 1", i)))
		}
		id := y.plan(plan)
		for i, s := range plan {
			y.do(domaintest.Bound("u", fmt.Sprint("agent-", i)), id, s.ID, "active")
		}
		ends := []string{"complete", "failed", "skipped"}
		var wg sync.WaitGroup
		for i, s := range plan {
			wg.Go(func() {
				if _, err := y.tell(domaintest.Bound("u", fmt.Sprint("agent-", i)), id, s.ID, ends[i%3]); err != nil {
					t.Errorf("%s: %v", s.ID, err)
				}
			})
		}
		wg.Wait()
		if k := y.kept(id); k.Status != task.Completing || d.to(id) != 2 {
			t.Errorf("the sprint is %s and was written %d times", k.Status, d.to(id))
		}
		if v := y.get(id); v.Counts != (Counts{Complete: 6, Failed: 5, Skipped: 5}) {
			t.Errorf("%+v", v.Counts)
		}
	})
}

// Several agents take up ready stories until none is left.
func TestSeveralAgentsFinishASprint(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		plan := randomPlan(rand.New(rand.NewPCG(7, 7)), 12, false)
		one := 1
		plan[0].RetryPolicy, plan[0].MaxRetries = retryAuto, &one
		id := y.plan(plan)
		var wg sync.WaitGroup
		var failed atomic.Bool
		for i := range 3 {
			c := domaintest.Bound("u", fmt.Sprint("agent-", i))
			wg.Go(func() {
				for t.Context().Err() == nil {
					v, err := y.Get(t.Context(), c, GetInput{SprintID: id})
					if err != nil || v.Status != task.Active {
						if err != nil {
							t.Error(err)
						}
						return
					}
					for k := range v.Ready {
						s := v.Ready[(k+i)%len(v.Ready)] // each agent begins with another story
						if _, err := y.tell(c, id, s, "active"); err != nil {
							if !fault.Is(err, fault.Precondition) {
								t.Error(err)
							}
							continue
						}
						to := "complete"
						if s == plan[0].ID && failed.CompareAndSwap(false, true) {
							to = "failed"
						}
						if _, err := y.tell(c, id, s, to); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		if v := y.get(id); v.Counts.Complete != len(plan) || v.Status != task.Completing {
			t.Errorf("%+v", v)
		}
		if k := y.kept(docID(id, plan[0].ID)); k.Sprint.Retries != 1 || k.ClaimToken != 2 {
			t.Errorf("%+v", k)
		}
	})
}
