package domaintest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/fault"
)

// Must returns a function that returns v, or ends the test if err is not nil: Must(s.Get(ctx, id))(t).
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Check(t, err)
		return v
	}
}

// Check ends the test if err is not nil.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until a condition holds that no event announces. It ends the test if that takes two minutes.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s does not become true", what)
		}
	}
}

// Err returns the error of a call and drops the result.
func Err[T any](_ T, err error) error { return err }

// Refused checks that err is a fault of the kind and that its message contains each of the words.
func Refused(t testing.TB, name string, err error, kind fault.Kind, words ...string) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want %v", name, err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q does not say %q", name, err, w)
		}
	}
}

// Says checks that err is a fault of the kind with exactly this message.
func Says(t testing.TB, name string, err error, kind fault.Kind, message string) {
	t.Helper()
	if !fault.Is(err, kind) || err.Error() != message {
		t.Errorf("%s: %v %q, want %v %q", name, fault.Of(err), fmt.Sprint(err), kind, message)
	}
}

// Fields returns the paths of the problems of an Invalid fault, separated by spaces. For any other error it returns a
// sentence that equals no path.
func Fields(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid {
		return fmt.Sprint("no fields: ", err)
	}
	paths := make([]string, len(f.Problems))
	for i, p := range f.Problems {
		paths[i] = p.Path
	}
	return strings.Join(paths, " ")
}

// Retry makes a call and repeats it while it fails with a Conflict, until ctx ends. It returns the last result.
func Retry(ctx context.Context, call func() error) error {
	err := call()
	for fault.Is(err, fault.Conflict) && ctx.Err() == nil {
		err = call()
	}
	return err
}

// Together makes n calls concurrently, numbered from 0, and returns the errors of those that failed, in the order of
// their numbers.
func Together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
