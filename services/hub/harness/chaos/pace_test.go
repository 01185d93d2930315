package chaos

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestKillsAreSpacedEvenlyOverTheMoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ agents, moves, kills int }{{8, 16, 3}, {2, 10, 1}, {1, 11, 10}, {3, 7, 0}, {4, 1, 2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			p := newPace(Options{Agents: c.agents, Moves: c.moves, Kills: c.kills})
			var at []int
			for i := range c.agents * c.moves {
				before := len(p.due)
				if p.step(); len(p.due) > before {
					at = append(at, i+1)
				}
			}
			if len(at) != c.kills {
				t.Fatalf("kills are due after %v moves, want %d", at, c.kills)
			}
			for k, n := range at {
				if n*(c.kills+1) < c.agents*c.moves*(k+1) || (n-1)*(c.kills+1) >= c.agents*c.moves*(k+1) {
					t.Errorf("kill %d is due after %d of %d moves", k+1, n, c.agents*c.moves)
				}
			}
			p.end()
			for range c.kills {
				if !p.next(t.Context()) {
					t.Fatal("a due kill was dropped when the agents had ended")
				}
			}
			if p.next(t.Context()) {
				t.Error("there is one kill too many")
			}
		})
	}
}

func TestCallsThatDoNotEndAreAbandoned(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"with counted moves": {Agents: 1, Moves: 100},
		"by the clock":       {For: time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := newPace(o).withGrace(t.Context(), time.Millisecond)
			defer cancel()
			<-ctx.Done()
			if err := context.Cause(ctx); !errors.Is(err, errNoProgress) {
				t.Error(err)
			}
		})
	}
}

func TestEachMoveIsMadeOnceHoweverShortTheRun(t *testing.T) {
	t.Parallel()
	p := newPace(Options{For: time.Nanosecond, Every: time.Second})
	if !p.more(len(moves)-1) || p.more(len(moves)) {
		t.Error("an agent must make each move once and stop when the time is over")
	}
	if p.next(t.Context()) {
		t.Error("no hub may be killed after the time is over")
	}
}
