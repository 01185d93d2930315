package app

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/shared/domaintest"
)

// source is a relay.Directory of one user, which counts its reads.
type source struct {
	programs []string
	err      error
	reads    int
	then     func() // called once the programs were read
}

// Programs implements relay.Directory.
func (s *source) Programs(context.Context, string) ([]string, error) {
	s.reads++
	programs := s.programs
	if s.then != nil {
		s.then()
	}
	return programs, s.err
}

func TestTheProgramsOfAUserAreReadOnceAMinuteOrWhenItsKeysChange(t *testing.T) {
	t.Parallel()
	clock, s := &domaintest.Clock{}, &source{programs: []string{"alpha"}, err: errors.New("down")}
	d := &directory{perUser[[]string]{load: s.Programs, fresh: freshPrograms, now: clock.Now}}
	knows := func(what string, reads int, programs ...string) {
		t.Helper()
		if got, err := d.Programs(t.Context(), "u"); err != nil || !slices.Equal(got, programs) || s.reads != reads {
			t.Errorf("%s: got %v, %v after %d reads; want %v after %d", what, got, err, s.reads, programs, reads)
		}
	}
	if _, err := d.Programs(t.Context(), "u"); err == nil {
		t.Error("a fault of the source is not told")
	}
	s.err = nil
	knows("after a fault", 2, "alpha")
	s.programs = []string{"alpha", "beta"}
	clock.Pass(time.Minute - time.Microsecond)
	knows("within the minute", 2, "alpha")
	clock.Pass(time.Microsecond)
	knows("after a minute", 3, "alpha", "beta")
	s.programs = []string{"beta"}
	d.forget("u")
	s.then = func() { d.forget("u") } // the keys change while they are read
	knows("after a change", 4, "beta")
	s.then = nil
	knows("after a change during the read", 5, "beta")
	knows("and then", 5, "beta")
}

// Without this each of a thousand agents that write at once would read the thousand keys of their user.
func TestManyWhoAskAtOnceCostOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &source{programs: []string{"alpha"}, then: func() { <-release }}
		d := &directory{perUser[[]string]{load: s.Programs, fresh: freshPrograms, now: time.Now}}
		first, cancel := context.WithCancel(t.Context())
		for i := range 100 {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			go func() {
				if got, err := d.Programs(ctx, "u"); err != nil || !slices.Equal(got, []string{"alpha"}) {
					t.Errorf("got %v, %v", got, err)
				}
			}()
			synctest.Wait()
		}
		cancel() // the caller whose read it is gives up, and the others get the programs
		close(release)
		synctest.Wait()
		if s.reads != 1 {
			t.Errorf("the programs were read %d times, want once", s.reads)
		}
	})
}
