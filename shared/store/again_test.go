package store

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestACheckMayAskForAnotherAtATime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		asks map[int][]time.Duration // by the number of the check
		want []time.Duration         // the times of the checks
	}{
		{"none", nil, []time.Duration{0, 0}},
		{"one", map[int][]time.Duration{0: {10 * time.Second}}, []time.Duration{0, 0, 10 * time.Second}},
		{"the earliest of several counts", map[int][]time.Duration{0: {20 * time.Second, 10 * time.Second}, 1: {30 * time.Second}},
			[]time.Duration{0, 0, 10 * time.Second}},
		{"one after the other", map[int][]time.Duration{0: {10 * time.Second}, 2: {15 * time.Second}},
			[]time.Duration{0, 0, 10 * time.Second, 25 * time.Second}},
		{"after the wait", map[int][]time.Duration{0: {2 * patience}}, []time.Duration{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &watched{open: make(chan struct{})}
				close(d.open)
				tenant, begin := &Tenant{db: &DB{waits: newWaits(d)}, uid: colleague}, time.Now()
				var at []time.Duration
				err := Collection[struct{}]{Name: "things"}.Wait(t.Context(), tenant, nil, patience,
					func(ctx context.Context) (bool, error) {
						for _, d := range c.asks[len(at)] {
							CheckAgain(ctx, d)
						}
						at = append(at, time.Since(begin))
						return false, nil
					})
				if err != nil || fmt.Sprint(at) != fmt.Sprint(c.want) || time.Since(begin) != patience {
					t.Errorf("checked at %v, ended after %v with %v; want %v", at, time.Since(begin), err, c.want)
				}
			})
		})
	}
}

func TestACheckOutsideOfAWaitAsksForNothing(t *testing.T) {
	t.Parallel()
	CheckAgain(t.Context(), time.Nanosecond)
}
