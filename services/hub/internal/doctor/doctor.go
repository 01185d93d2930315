package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// State is how a check came out.
type State string

// The states. Only Fail is a failure; Skip is what could not be looked at here.
const (
	OK   State = "ok"
	Warn State = "warn"
	Fail State = "fail"
	Skip State = "skip"
)

// Result is what a check saw.
type Result struct {
	Check string `json:"check"`
	State State  `json:"state"`
	// Said is what was looked at and how it is, Fix what to do where that is not well.
	Said string `json:"said"`
	Fix  string `json:"fix,omitempty"`
}

// String is the result in one line.
func (r Result) String() string {
	s := fmt.Sprintf("%-4s  %-11s  %s", r.State, r.Check, r.Said)
	if r.Fix != "" {
		s += " → " + r.Fix
	}
	return s
}

// Check is one thing to look at. Look names no check in its result.
type Check struct {
	Name string
	Look func(context.Context) Result
	// Patience is how long it may take where that is longer than for the others.
	Patience time.Duration
	// Stuck is what to do where it takes longer.
	Stuck string
}

// Patience is how long a check may take.
const Patience = 10 * time.Second

// Run runs all checks at once, each for as long as patience allows, and tells of each in
// their order. One that does not end in time has failed, and is waited for no longer.
func Run(ctx context.Context, checks []Check, patience time.Duration, tell func(Result)) (failed int) {
	results := make([]chan Result, len(checks))
	for i, c := range checks {
		results[i] = make(chan Result, 1)
		go func() { results[i] <- c.run(ctx, max(c.Patience, patience)) }()
	}
	for i, c := range checks {
		r := <-results[i]
		r.Check, r.Said, r.Fix = c.Name, line(r.Said), line(r.Fix)
		if r.State == Fail {
			failed++
		}
		tell(r)
	}
	return failed
}

func (c Check) run(outer context.Context, patience time.Duration) Result {
	ctx, cancel := context.WithTimeout(outer, patience)
	defer cancel()
	seen := make(chan Result, 1)
	go func() { seen <- c.Look(ctx) }()
	var r Result
	select {
	case r = <-seen:
	case <-ctx.Done():
	}
	switch {
	case r.State == OK || ctx.Err() == nil:
		return r
	case outer.Err() != nil:
		return skip("not looked at: interrupted")
	}
	return fail(fmt.Sprintf("no answer within %v", patience), c.Stuck)
}

func ok(format string, args ...any) Result {
	return Result{State: OK, Said: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) Result {
	return Result{State: Skip, Said: fmt.Sprintf(format, args...)}
}

func warn(said, fix string) Result { return Result{State: Warn, Said: said, Fix: fix} }
func fail(said, fix string) Result { return Result{State: Fail, Said: said, Fix: fix} }

// shown is how many findings a line has room for.
const shown = 4

// sum is one result of many: well, where nothing was found, or the worst of what was.
func sum(well Result, found []Result) Result {
	if len(found) == 0 {
		return well
	}
	out := Result{State: Warn}
	var said, fixes []string
	// The worst come first, so that a line without room for all leaves out the others.
	for _, state := range []State{Fail, Warn} {
		for _, f := range found {
			if f.State != state {
				continue
			}
			if state == Fail {
				out.State = Fail
			}
			said = append(said, f.Said)
			if f.Fix != "" && !slices.Contains(fixes, f.Fix) {
				fixes = append(fixes, f.Fix)
			}
		}
	}
	out.Said, out.Fix = few(said), few(fixes)
	return out
}

// few is a list with as many of its members as there is room for.
func few(list []string) string {
	if len(list) > shown {
		list = append(list[:shown:shown], fmt.Sprintf("and %d more", len(list)-shown))
	}
	return strings.Join(list, "; ")
}

// longest is how much of a text from elsewhere a line has room for, in characters.
const longest = 1000

// line is text in one line that no terminal obeys.
func line(text string) string {
	words := strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	words = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, words)
	if runes := []rune(words); len(runes) > longest {
		words = string(runes[:longest]) + "…"
	}
	return words
}

// The clock may be off by as much. Leases and keys stand on time.
const (
	offWarn = 5 * time.Second
	offFail = time.Minute
)

// judge says how bad it is that a clock is off by so much.
func judge(off time.Duration) State {
	switch off = off.Abs(); {
	case off > offFail:
		return Fail
	case off > offWarn:
		return Warn
	}
	return OK
}

const setClock = "set the clock by the network (timedatectl set-ntp true): keys and leases end by it"

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
