package sprint

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

func (y *yard) add(c identity.Caller, sprintID, id, mode string, on ...string) (AddOutput, error) {
	in := AddInput{SprintID: sprintID, Story: Draft{ID: id, Title: "do " + id, Dependencies: on}, InsertionMode: mode}
	var out AddOutput
	err := domaintest.Retry(y.t.Context(), func() (err error) {
		out, err = y.Add(y.t.Context(), c, in)
		return err
	})
	return out, err
}

func TestAStoryIsAddedToTheWaveOfItsInsertionMode(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1,b 2,c 3"))
		y.do(beta, id, "a", "active", "complete")
		for _, c := range []struct{ story, mode string }{{"now", currentWave}, {"next", nextWave}, {"left-out", ""},
			{"last", backlog}} {
			out, err := y.add(gamma, id, c.story, c.mode)
			if err != nil || out.Story.ID != c.story || out.Story.Source != "gamma" || !out.Story.Verified ||
				out.Waits != 0 {
				t.Fatalf("%+v, %v", out, err)
			}
		}
		y.draws(
			id,
			"active ready:b,now | 1 a=complete | 2* b=queued now=queued | 3 c=queued next=queued left-out=queued | 4 last=queued",
		)
		if k := y.kept(id); k.Sprint.Stories != 7 || k.Sprint.LastWave != 4 {
			t.Errorf("%+v", k.Sprint)
		}
		// Only the program that added the story and the sprint's creator may skip it.
		_, err := y.tell(beta, id, "now", "skipped")
		domaintest.Refused(t, "another", err, fault.Forbidden, "creator", "added")
		y.do(gamma, id, "now", "skipped")
		y.do(alpha, id, "next", "skipped")
	})
}

func TestAnAddedStoryWaitsForItsOpenDependencies(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1,b 1,c 1,d 1,e 2"))
		y.do(beta, id, "a", "active", "complete")
		y.do(beta, id, "c", "active", "failed")
		y.do(beta, id, "d", "active", "skipped")
		out, err := y.add(alpha, id, "x", currentWave, "b", "a", "c", "b")
		if err != nil || out.Waits != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
		y.draws(id, "active ready:b | 1* a=complete b=queued c=failed d=skipped x=queued<b,c!c | 2 e=queued")
		y.do(beta, id, "b", "active", "complete")
		y.do(alpha, id, "c", "queued")
		y.do(beta, id, "c", "active", "complete")
		y.draws(id, "active ready:x | 1* a=complete b=complete c=complete d=skipped x=queued | 2 e=queued")

		for name, c := range map[string]struct {
			story, mode string
			on          []string
			kind        fault.Kind
			says        string
		}{
			"an unknown one": {"y", "", []string{"a", "nope"}, fault.Invalid,
				`story.dependencies[1]: there is no story "nope" in this sprint`},
			"itself": {"y", "", []string{"y"}, fault.Invalid,
				`story.dependencies[0]: "y" cannot depend on itself`},
			"what is skipped": {"y", "", []string{"d"}, fault.Invalid, `story.dependencies[0]: "d" was skipped`},
			"a later wave": {"y", currentWave, []string{"e"}, fault.Invalid,
				`story.dependencies[0]: "e" is in wave 2`},
			"an id in use": {"a", "", nil, fault.Exists, `a story "a" already`},
		} {
			_, err := y.add(alpha, id, c.story, c.mode, c.on...)
			domaintest.Refused(t, name, err, c.kind, c.says)
		}
		y.draws(id, "active ready:x | 1* a=complete b=complete c=complete d=skipped x=queued | 2 e=queued")
	})
}

func TestASprintThatHasEndedOrIsFullTakesNoStory(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id := y.plan(stories("a 1"))
		y.change(id, func(v *task.Task) { v.Sprint.Stories = MaxStories })
		_, err := y.add(alpha, id, "x", "")
		domaintest.Refused(t, "a full sprint", err, fault.Precondition, "400 stories")
		y.change(id, func(v *task.Task) { v.Sprint.Stories = MaxStories - 1 })
		if _, err := y.add(alpha, id, "x", ""); err != nil {
			t.Error(err)
		}
		y.change(id, func(v *task.Task) { v.Sprint.Stories = 2 })
		for _, s := range []string{"a", "x"} {
			// The state after a crash: the stories have ended, and StoryEnded did not run.
			y.change(docID(id, s), func(v *task.Task) { v.Sprint.Ended, v.Status = true, task.Failed })
		}
		_, err = y.add(alpha, id, "y", "")
		domaintest.Refused(t, "before StoryEnded", err, fault.Precondition, "all of its stories have ended")
		if err := y.StoryEnded(t.Context(), "u", id); err != nil {
			t.Fatal(err)
		}
		_, err = y.add(alpha, id, "y", "")
		domaintest.Refused(t, "completing", err, fault.Precondition, "all of its stories have ended")
	})
}

// Both transactions load the dependency, so that the second to commit sees the first.
func TestADependencyCompletedDuringAnAddIsCountedOnce(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		const rounds = 3
		plan := stories("keep 1")
		for i := range rounds {
			plan = append(plan, story(fmt.Sprintf("d%d 1", i)))
		}
		id := y.plan(plan)
		for i := range rounds {
			on, added := fmt.Sprint("d", i), fmt.Sprint("x", i)
			y.do(beta, id, on, "active")
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := y.tell(beta, id, on, "complete"); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := y.add(alpha, id, added, currentWave, on); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			if k := y.kept(docID(id, added)); k.Waits != 0 {
				t.Errorf("%s waits for %d", added, k.Waits)
			}
		}
		if v := y.get(id); strings.Join(v.Ready, " ") != "keep x0 x1 x2" {
			t.Errorf("ready: %v", v.Ready)
		}
	})
}
