package sprint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

// story parses "id wave dependency dependency".
func story(text string) Planned {
	parts := strings.Fields(text)
	var w int
	if _, err := fmt.Sscan(parts[1], &w); err != nil {
		panic(err)
	}
	return Planned{Draft: draft(Draft{ID: parts[0], Title: "do " + parts[0], Dependencies: parts[2:]}), Wave: &w}
}

// draft applies the defaults of the schema to a draft, as the operations do.
func draft(d Draft) Draft { return op.Fill(AddInput{Story: d}).Story }

// stories parses a plan, with commas between its stories.
func stories(text string) []Planned {
	var out []Planned
	for s := range strings.SplitSeq(text, ",") {
		out = append(out, story(s))
	}
	return out
}

func told(err error) []string {
	var f *fault.Error
	if err == nil || !errors.As(err, &f) || f.Kind != fault.Invalid {
		return nil
	}
	var out []string
	for _, p := range f.Problems {
		out = append(out, p.Path+": "+p.Message)
	}
	return out
}

func TestEveryProblemOfAPlanIsReportedAtItsField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan string
		want []string
	}{
		"a good plan":                {"a 1,b 1 a,c 2 a b", nil},
		"a dependency written first": {"b 1 a,a 1", nil},
		"the same id": {"a 1,b 1,a 2",
			[]string{`stories[2].id: "a" is the id of stories[0] already; ids are unique in a sprint`}},
		"an unknown one": {"a 1,b 1 a x",
			[]string{`stories[1].dependencies[1]: there is no story "x" in this plan`}},
		"itself": {"a 1 a", []string{`stories[0].dependencies[0]: "a" cannot depend on itself`}},
		"a cycle": {"x 1 a,a 1 b,b 1 c,c 1 a",
			[]string{`stories[1].dependencies[0]: cycle: a → b → c → a`}},
		"two cycles": {"a 1 b,b 1 a,c 1 d,d 1 a c",
			[]string{`stories[0].dependencies[0]: cycle: a → b → a`, `stories[2].dependencies[0]: cycle: c → d → c`}},
		"a later wave": {"a 1 b,b 3",
			[]string{`stories[0].dependencies[0]: "b" is in wave 3, which opens only when wave 1 with "a" has ` +
				`ended; move one of them`}},
		"several": {"a 1 a x,a 1",
			[]string{`stories[1].id: "a" is the id of stories[0] already; ids are unique in a sprint`,
				`stories[0].dependencies[0]: "a" cannot depend on itself`,
				`stories[0].dependencies[1]: there is no story "x" in this plan`}},
	} {
		if got := told(check(stories(c.plan))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	flood := stories("a 1" + strings.Repeat(" x", 50))
	if got := told(check(flood)); len(got) != maxProblems+1 || got[maxProblems] != ": and 30 more problems" {
		t.Errorf("a flood: %d, %q", len(got), got[len(got)-1])
	}
	loop := append(flood, stories("b 1 c,c 1 b")...)
	if got := told(check(loop)); !strings.Contains(got[0], "cycle: b → c → b") {
		t.Errorf("a cycle behind a flood: %q", got[0])
	}
}

func TestWavesAreNumberedInTheirOrder(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string][]int{
		"a 1,b 1,c 2":       {1, 1, 2},
		"a 0,b 1":           {1, 2},
		"a 40,b 7,c 40,d 9": {3, 1, 3, 2},
		"a 10000":           {1},
	} {
		if got := waves(stories(plan)); !slices.Equal(got, want) {
			t.Errorf("%s: %v", plan, got)
		}
	}
	left := op.Fill(CreateInput{Stories: []Planned{{Draft: Draft{ID: "a"}}, story("b 1"),
		story("c 2")}})
	if got := waves(left.Stories); !slices.Equal(got, []int{1, 1, 2}) {
		t.Errorf("left out: %v", got)
	}
}

// randomPlan returns a plan of n stories. With wild its dependencies are arbitrary; else they
// follow a random order of the stories and never point to a later wave.
func randomPlan(r *rand.Rand, n int, wild bool) []Planned {
	rank, out := r.Perm(n), make([]Planned, n)
	for i := range out {
		w := r.IntN(5) * 3
		out[i] = Planned{Draft: draft(Draft{ID: fmt.Sprint("s", i), Title: "x"}), Wave: &w}
	}
	for i := range out {
		for range r.IntN(4) {
			k := r.IntN(n)
			if wild && r.IntN(4) > 0 || rank[k] < rank[i] && *out[k].Wave <= *out[i].Wave {
				out[i].Dependencies = append(out[i].Dependencies, out[k].ID)
			}
		}
	}
	return out
}

// sim simulates the stories of a sprint without a store.
type sim struct {
	t     *testing.T
	tasks []task.Task
}

func (s *sim) story(id string) *task.Task {
	return &s.tasks[slices.IndexFunc(s.tasks, func(t task.Task) bool { return t.Sprint.StoryID == id })]
}

// board returns the board of the stories in the order of a store.
func (s *sim) board() Board {
	slices.SortFunc(s.tasks, func(a, b task.Task) int {
		if a.Sprint.Wave != b.Sprint.Wave {
			return a.Sprint.Wave - b.Sprint.Wave
		}
		return a.Sprint.Order - b.Sprint.Order
	})
	return boardOf(s.tasks)
}

func (s *sim) do(id, to string) turn {
	s.t.Helper()
	t := s.story(id)
	done, err := apply(t, task.Lease{}, alpha, report{to: status(to), openWave: openWave(s.tasks), sprint: task.Active},
		domaintest.Start)
	if err != nil {
		s.t.Fatalf("%s to %s: %v", id, to, err)
	}
	if done.completed {
		for _, d := range t.Sprint.Dependents {
			s.story(d).Waits--
		}
	}
	return done
}

// sane checks the invariants of a sprint.
func (s *sim) sane(b Board) {
	s.t.Helper()
	for _, id := range b.Ready {
		r := s.story(id)
		for _, d := range r.Sprint.Dependencies {
			if s.story(d).Status != task.Done {
				s.t.Fatalf("%s is ready and its dependency %s is %s", id, d, s.story(d).Status)
			}
		}
		for _, o := range s.tasks {
			if o.Sprint.Wave < r.Sprint.Wave && !o.Sprint.Ended {
				s.t.Fatalf("%s of wave %d is ready and %s of wave %d has not ended", id, r.Sprint.Wave,
					o.Sprint.StoryID, o.Sprint.Wave)
			}
		}
	}
	for _, w := range b.Waves {
		for _, v := range w.Stories {
			if kept := s.story(v.ID); !kept.Sprint.Ended && kept.Waits != len(v.WaitingFor) {
				s.t.Fatalf("%s counts %d open dependencies of %v", v.ID, kept.Waits, v.WaitingFor)
			}
		}
	}
}

// run takes up ready stories and completes them in a random order, until none is left.
func (s *sim) run(r *rand.Rand, each func(Board)) {
	for {
		b := s.board()
		s.sane(b)
		each(b)
		var held []string
		for _, t := range s.tasks {
			if t.Status == task.Active {
				held = append(held, t.Sprint.StoryID)
			}
		}
		switch {
		case len(b.Ready) > 0 && (len(held) == 0 || r.IntN(2) == 0):
			s.do(b.Ready[r.IntN(len(b.Ready))], "active")
		case len(held) > 0:
			s.do(held[r.IntN(len(held))], "complete")
		default:
			return
		}
	}
}

func TestEveryAcceptedPlanCanBeFinished(t *testing.T) {
	t.Parallel()
	accepted := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		plan := randomPlan(r, 1+r.IntN(25), seed%3 == 0)
		if check(plan) != nil {
			continue
		}
		accepted++
		s := &sim{t, newStories("s", author{source: "alpha", owner: "alpha"}, plan, domaintest.Start)}
		s.run(r, func(Board) {})
		if c := count(s.tasks); c.Complete != len(plan) {
			t.Fatalf("seed %d: stuck at %+v\n%+v", seed, c, s.board())
		}
	}
	if accepted < 200 {
		t.Errorf("only %d plans were accepted", accepted)
	}
}

// cyclic reports whether a plan has a cycle, by an algorithm other than the package's: it
// removes stories without dependencies until none is left to remove.
func cyclic(plan []Planned) bool {
	left := map[string][]string{}
	for _, s := range plan {
		left[s.ID] = slices.DeleteFunc(slices.Clone(s.Dependencies), func(d string) bool { return d == s.ID })
	}
	for again := true; again; {
		again = false
		for id, on := range left {
			if !slices.ContainsFunc(on, func(d string) bool { _, there := left[d]; return there }) {
				delete(left, id)
				again = true
			}
		}
	}
	return len(left) > 0
}

func TestCyclesAreReportedExactlyWhereTheyExist(t *testing.T) {
	t.Parallel()
	seen := map[bool]int{}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		plan := randomPlan(r, 2+r.IntN(12), true)
		is := cyclic(plan)
		seen[is]++
		named := false
		for _, p := range told(check(plan)) {
			path, loop, found := strings.Cut(p, ": cycle: ")
			if !found {
				continue
			}
			named = true
			ids := strings.Split(loop, " → ")
			if len(ids) < 3 || ids[0] != ids[len(ids)-1] {
				t.Fatalf("seed %d: %q is no cycle", seed, loop)
			}
			for i, id := range ids[1:] {
				at := slices.IndexFunc(plan, func(s Planned) bool { return s.ID == ids[i] })
				j := slices.Index(plan[at].Dependencies, id)
				if j < 0 {
					t.Fatalf("seed %d: %s does not depend on %s", seed, ids[i], id)
				}
				if want := fmt.Sprintf("stories[%d].dependencies[%d]", at, j); i == 0 && path != want {
					t.Fatalf("seed %d: told at %s, not %s", seed, path, want)
				}
			}
		}
		if named != is {
			t.Fatalf("seed %d: named %t, is %t: %+v", seed, named, is, plan)
		}
	}
	if seen[true] < 50 || seen[false] < 50 {
		t.Errorf("the plans are too much alike: %v", seen)
	}
}

func TestRenumberingKeepsTheOrderOfWaves(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		plan := randomPlan(r, 1+r.IntN(20), true)
		got := waves(plan)
		last := slices.Max(got)
		for w := 1; w <= last; w++ {
			if !slices.Contains(got, w) {
				t.Fatalf("seed %d: no story is in wave %d of %d", seed, w, last)
			}
		}
		for i := range plan {
			for j := range plan {
				if (*plan[i].Wave < *plan[j].Wave) != (got[i] < got[j]) {
					t.Fatalf("seed %d: %v became %v", seed, plan, got)
				}
			}
		}
	}
}

func TestASprintWithAddedStoriesCanBeFinished(t *testing.T) {
	t.Parallel()
	modes := []string{currentWave, nextWave, backlog, ""}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := &sim{t, newStories("s", author{source: "alpha", owner: "alpha"}, randomPlan(r, 1+r.IntN(15), false),
			domaintest.Start)}
		planned, last := len(s.tasks), 0
		for _, k := range s.tasks {
			last = max(last, k.Sprint.Wave)
		}
		s.run(r, func(b Board) {
			open := openWave(s.tasks)
			if open == 0 || len(s.tasks) > 40 || r.IntN(3) > 0 {
				return
			}
			d := draft(Draft{ID: fmt.Sprint("new", len(s.tasks))})
			on := map[string]*task.Task{}
			for range r.IntN(3) {
				k := &s.tasks[r.IntN(len(s.tasks))]
				d.Dependencies, on[k.Sprint.StoryID] = append(d.Dependencies, k.Sprint.StoryID), k
			}
			n := newStory("s", author{source: "alpha", owner: "alpha"}, d, waveOf(modes[r.IntN(4)], open, last),
				len(s.tasks), domaintest.Start)
			if link(&n, on, d.Dependencies) != nil {
				return
			}
			last = max(last, n.Sprint.Wave)
			s.tasks = append(s.tasks, n)
			s.sane(s.board())
		})
		if c := count(s.tasks); c.Complete != len(s.tasks) || len(s.tasks) < planned {
			t.Fatalf("seed %d: stuck at %+v\n%+v", seed, c, s.board())
		}
	}
}
