package sprint

import (
	"fmt"
	"slices"
	"strings"

	"parley.internal/shared/fault"
)

// Draft is the author's description of a story.
type Draft struct {
	ID           string   `json:"id" allow:"nonempty,max=100,pattern=id" jsonschema:"your name for it, unique in the sprint"`
	Title        string   `json:"title" allow:"nonempty,max=200"`
	Dependencies []string `json:"dependencies,omitempty" allow:"max=400,each=100,pattern=id" jsonschema:"ids of stories that must be complete first"`
	Complexity   string   `json:"complexity,omitempty" allow:"enum=normal|high,default=normal"`
	RetryPolicy  string   `json:"retryPolicy,omitempty" allow:"enum=none|auto_retry|escalate,default=none" jsonschema:"on failure: stay, be queued again, or in the end alert a human"`
	MaxRetries   *int     `json:"maxRetries,omitempty" allow:"min=0,max=5,default=1" jsonschema:"how often it is queued again"`
}

// Planned is a draft with its wave. Create renumbers the waves 1, 2, 3.
type Planned struct {
	Draft
	Wave *int `json:"wave,omitempty" allow:"min=0,max=10000,default=1" jsonschema:"a wave opens when all before it have ended; renumbered 1, 2, 3"`
}

// The retry policies.
const (
	retryNone  = "none"
	retryAuto  = "auto_retry"
	escalation = "escalate"
)

// retries returns how many times the story is queued again after a failure.
func (d Draft) retries() int {
	if d.RetryPolicy == retryNone {
		return 0
	}
	return *d.MaxRetries
}

// maxProblems is the largest number of problems in one fault.
const maxProblems = 20

// problems collects the problems of a plan.
type problems []fault.Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, fault.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (p problems) fault() error {
	if len(p) == 0 {
		return nil
	}
	if more := len(p) - maxProblems; more > 0 {
		p = append(p[:maxProblems:maxProblems], fault.Problem{Message: fmt.Sprintf("and %d more problems", more)})
	}
	return fault.Problems(p...)
}

// check returns Invalid with the problems of a plan, each at its field: duplicate ids, unknown
// dependencies, dependencies on a later wave, and cycles. Every plan without problems can be
// completed.
func check(stories []Planned) error {
	var wrong problems
	at := make(map[string]int, len(stories))
	for i, s := range stories {
		if first, dup := at[s.ID]; dup {
			wrong.add(fmt.Sprintf("stories[%d].id", i),
				"%q is the id of stories[%d] already; ids are unique in a sprint", s.ID, first)
			continue
		}
		at[s.ID] = i
	}
	// The cycles come first, so that the limit on problems cannot hide them.
	for _, loop := range cycles(stories, at) {
		first := at[loop[0]]
		j := slices.Index(stories[first].Dependencies, loop[1])
		wrong.add(fmt.Sprintf("stories[%d].dependencies[%d]", first, j), "cycle: %s → %s", strings.Join(loop, " → "),
			loop[0])
	}
	for i, s := range stories {
		for j, d := range s.Dependencies {
			path := fmt.Sprintf("stories[%d].dependencies[%d]", i, j)
			k, known := at[d]
			switch {
			case d == s.ID:
				wrong.add(path, "%q cannot depend on itself", d)
			case !known:
				wrong.add(path, "there is no story %q in this plan", d)
			case *stories[k].Wave > *s.Wave:
				wrong.add(path, "%q is in wave %d, which opens only when wave %d with %q has ended; move one of them",
					d, *stories[k].Wave, *s.Wave, s.ID)
			}
		}
	}
	return wrong.fault()
}

// cycles returns cycles of two or more stories, each complete and in the order of its
// dependencies. It returns at least one if there are any, and no story appears twice.
func cycles(stories []Planned, at map[string]int) [][]string {
	const open, closed = 1, 2
	var out [][]string
	var trail []string
	state, named := make([]int, len(stories)), map[string]bool{}
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		trail = append(trail, stories[i].ID)
		for _, d := range stories[i].Dependencies {
			k, known := at[d]
			switch {
			case !known || k == i || state[k] == closed:
			case state[k] == open:
				loop := slices.Clone(trail[slices.Index(trail, d):])
				if slices.ContainsFunc(loop, func(id string) bool { return named[id] }) {
					continue
				}
				for _, id := range loop {
					named[id] = true
				}
				out = append(out, loop)
			default:
				visit(k)
			}
		}
		trail = trail[:len(trail)-1]
		state[i] = closed
	}
	for i, s := range stories {
		if state[i] == 0 && at[s.ID] == i {
			visit(i)
		}
	}
	return out
}

// waves numbers the waves of a plan 1, 2, 3 in their order, and returns the number of each
// story's wave.
func waves(stories []Planned) []int {
	given := make([]int, len(stories))
	for i, s := range stories {
		given[i] = *s.Wave
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(given)))
	out := make([]int, len(stories))
	for i, w := range given {
		rank, _ := slices.BinarySearch(distinct, w)
		out[i] = rank + 1
	}
	return out
}

// The insertion modes of a story that is added to a running sprint.
const (
	currentWave = "current_wave"
	nextWave    = "next_wave"
	backlog     = "backlog"
)

// waveOf returns the wave of a story that is added, given the open wave and the last wave.
func waveOf(mode string, open, last int) int {
	switch mode {
	case currentWave:
		return open
	case backlog:
		return last + 1
	}
	return open + 1
}
