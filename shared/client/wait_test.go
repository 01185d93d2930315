package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestAWaitIsPartedIntoThoseThatTheServerTakes(t *testing.T) {
	t.Parallel()
	c, k := newClient(t, "http://p.example")
	var waits []time.Duration
	out, err := Await(t.Context(), c, 2*time.Minute, func(_ context.Context, wait time.Duration) (int, bool, error) {
		waits = append(waits, wait)
		k.pass(wait)
		return len(waits), false, nil
	})
	want := []time.Duration{55 * time.Second, 55 * time.Second, 10 * time.Second}
	if err != nil || out != 3 || !slices.Equal(waits, want) || len(k.slept) != 0 {
		t.Errorf("got %d, %v with the waits %v and the pauses %v", out, err, waits, k.slept)
	}
}

func TestAWaitEndsWhenItIsDoneOrFails(t *testing.T) {
	t.Parallel()
	c, k := newClient(t, "http://p.example")
	trouble := errors.New("trouble")
	for _, why := range []error{nil, trouble} {
		n := 0
		out, err := Await(t.Context(), c, time.Hour, func(_ context.Context, wait time.Duration) (int, bool, error) {
			n++
			k.pass(wait)
			if n == 2 {
				return n, why == nil, why
			}
			return n, false, nil
		})
		if out != 2 || !errors.Is(err, why) {
			t.Errorf("got %d, %v", out, err)
		}
	}
}

func TestAWaitWithoutPatienceLooksOnce(t *testing.T) {
	t.Parallel()
	c, k := newClient(t, "http://p.example")
	n := 0
	_, err := Await(t.Context(), c, 0, func(_ context.Context, wait time.Duration) (int, bool, error) {
		n++
		return n, wait != 0, nil
	})
	if err != nil || n != 1 || len(k.slept) != 0 {
		t.Errorf("looked %d times, %v", n, err)
	}
}

// A server that is about to stop answers every wait at once.
func TestAWaitThatIsCutShortIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	c, k := newClient(t, "http://p.example")
	n := 0
	_, err := Await(t.Context(), c, 10*time.Second, func(context.Context, time.Duration) (int, bool, error) {
		n++
		return n, false, nil
	})
	if err != nil || n != 11 || len(k.slept) != 10 || k.slept[0] != time.Second {
		t.Errorf("looked %d times, paused %v, %v", n, k.slept, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := func(context.Context, time.Duration) (int, bool, error) { return 0, false, nil }
	if _, err := Await(ctx, c, 10*time.Second, never); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context ended", err)
	}
}
