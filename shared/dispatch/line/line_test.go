package line

import (
	"context"
	"testing"
	"time"
)

// turn reports whether a place has its turn now.
func turn(p *Place) bool {
	select {
	case <-p.turn:
		return true
	default:
		return false
	}
}

func TestTheFirstOfALineHasTheTurn(t *testing.T) {
	t.Parallel()
	var l Lines
	a, b, other := l.Enter("x"), l.Enter("x"), l.Enter("y")
	if !turn(a) || turn(b) || !turn(other) {
		t.Errorf("the turns are %v, %v and %v", turn(a), turn(b), turn(other))
	}
	a.Leave("")
	if !turn(b) {
		t.Error("the second does not follow the first")
	}
}

func TestWorkThatWasFoundIsTakenInOrderWithoutAnotherLook(t *testing.T) {
	t.Parallel()
	var l Lines
	a, b, c := l.Enter("x"), l.Enter("x"), l.Enter("x")
	if !a.Found([]string{"1", "2"}) {
		t.Error("nothing was found")
	}
	for i, p := range []*Place{a, b} {
		if id, ok := p.Take(); !ok || id != string(rune('1'+i)) {
			t.Errorf("place %d takes %q, %v", i, id, ok)
		}
	}
	if id, ok := c.Take(); ok || !turn(c) {
		t.Errorf("the third takes %q, and has the turn: %v", id, turn(c))
	}
	if c.Found([]string{"1", "2"}) {
		t.Error("work that is being tried is found again")
	}
	a.Leave("1")
	if !c.Found([]string{"1"}) {
		t.Error("work that is no longer tried is not found")
	}
}

func TestOneThatLostItsWorkIsTheNext(t *testing.T) {
	t.Parallel()
	var l Lines
	a, b, c := l.Enter("x"), l.Enter("x"), l.Enter("x")
	a.Found([]string{"1"})
	a.Take()
	poked := b.Poked()
	a.Lost("1", true)
	select {
	case <-poked:
	default:
		t.Error("the first is not told that work has come back")
	}
	if id, ok := b.Take(); !ok || id != "1" {
		t.Errorf("the first takes %q, %v", id, ok)
	}
	if !turn(a) || turn(c) {
		t.Errorf("the next turn is that of the one that lost: %v, of the last: %v", turn(a), turn(c))
	}
}

func TestOneThatLostItsWorkToAnotherCallerPokesNobody(t *testing.T) {
	t.Parallel()
	var l Lines
	a, b := l.Enter("x"), l.Enter("x")
	a.Found([]string{"1"})
	a.Take()
	poked := b.Poked()
	a.Lost("1", false)
	select {
	case <-poked:
		t.Error("the first is poked")
	default:
	}
	if _, ok := b.Take(); ok {
		t.Error("the lost work is there again")
	}
}

func TestAfterItsDeadlineACallWaitsOnlyWhileTheFirstLooks(t *testing.T) {
	t.Parallel()
	var l Lines
	a, b := l.Enter("x"), l.Enter("x")
	got := make(chan bool)
	go func() { got <- b.Turn(t.Context(), time.Now(), nil, nil) }()
	select {
	case <-got:
		t.Error("it gives up while the first looks")
	case <-time.After(10 * time.Millisecond):
	}
	a.Idle()
	if <-got {
		t.Error("it has the turn of one that waits")
	}
	a.Looking()
	go func() { got <- b.Turn(t.Context(), time.Now(), nil, nil) }()
	a.Leave("")
	if !<-got {
		t.Error("it does not get the turn of one that left")
	}
}

func TestACallThatIsEndedGetsNoTurn(t *testing.T) {
	t.Parallel()
	var l Lines
	l.Enter("x")
	b := l.Enter("x")
	end := make(chan struct{})
	close(end)
	later := time.Now().Add(time.Minute)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if b.Turn(t.Context(), later, end, nil) || b.Turn(t.Context(), later, nil, end) || b.Turn(gone, later, nil, nil) {
		t.Error("it has a turn")
	}
}

func TestALineThatAllHaveLeftIsForgotten(t *testing.T) {
	t.Parallel()
	var l Lines
	a, b := l.Enter("x"), l.Enter("x")
	a.Found([]string{"1"})
	a.Take()
	b.Leave("")
	if len(l.lines) != 1 {
		t.Error("a line with work that is tried is forgotten")
	}
	a.Leave("1")
	if len(l.lines) != 0 {
		t.Errorf("%d lines are kept", len(l.lines))
	}
}
