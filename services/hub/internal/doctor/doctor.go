package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// State is the outcome of a check.
type State string

// The states. Only Fail is a failure. Skip is the state of a check that could not run.
const (
	OK   State = "ok"
	Warn State = "warn"
	Fail State = "fail"
	Skip State = "skip"
)

// Result is the result of a check.
type Result struct {
	// Check is the name of the check.
	Check string `json:"check"`
	State State  `json:"state"`
	// Said describes the finding. Fix is the advice to repair it, empty if the state is OK.
	Said string `json:"said"`
	Fix  string `json:"fix,omitempty"`
}

// String returns the result in one line.
func (r Result) String() string {
	s := fmt.Sprintf("%-4s  %-11s  %s", r.State, r.Check, r.Said)
	if r.Fix != "" {
		s += " → " + r.Fix
	}
	return s
}

// Check is one check. Look returns its result without the name of the check, and should end with its context.
type Check struct {
	Name string
	Look func(context.Context) Result
	// Patience is the time limit of Look if it is longer than that of Run; zero for that of Run.
	Patience time.Duration
	// Stuck is the advice if Look exceeds the time limit.
	Stuck string
}

// The names of the checks that the cloud and a laptop have.
const (
	clockName = "clock"
	storeName = "store"
)

// Reader is an open store. Read reads one document, and Close closes the store.
type Reader interface {
	Read(context.Context) error
	Close() error
}

// Patience is the usual time limit of a check.
const Patience = 10 * time.Second

// Run runs all checks at once, each within the time limit patience, calls tell with the results in the order of the
// checks, and returns the number of failures. A check that exceeds its limit has failed, and Run does not wait for it.
// If ctx ends first, unfinished checks are skipped.
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
		return skip("not checked: interrupted")
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

// shown is the number of findings in one line.
const shown = 4

// sum combines findings into one result with the worst state. Without findings the result is good.
func sum(good Result, found []Result) Result {
	if len(found) == 0 {
		return good
	}
	out := Result{State: Warn}
	var said, fixes []string
	// Failures come first, since a line leaves out the last findings.
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

// few joins the first members of a list, and counts the others.
func few(list []string) string {
	if len(list) > shown {
		list = append(list[:shown:shown], fmt.Sprintf("and %d more", len(list)-shown))
	}
	return strings.Join(list, "; ")
}

// longest is the limit of a foreign text in a line, in characters.
const longest = 1000

// line returns text in one line without control characters, safe to print on a terminal.
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

// Limits of the error of a clock. Leases and keys depend on the time.
const (
	offWarn = 5 * time.Second
	offFail = time.Minute
)

// judge returns the state of a clock that is off by a duration.
func judge(off time.Duration) State {
	switch off = off.Abs(); {
	case off > offFail:
		return Fail
	case off > offWarn:
		return Warn
	}
	return OK
}

const setClock = "set the clock by the network (timedatectl set-ntp true); keys and leases expire by it"

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
