package line

import (
	"context"
	"strings"
	"testing"
	"time"
)

// for tests the value of work is the names of those who may have it, and the key of a line is a name.
type names = string

func enter(l *Lines[names], key string) *Place[names] { return l.Enter("user", key, only(key)) }

func only(name string) func(Work[names]) bool {
	return func(w Work[names]) bool { return strings.Contains(w.Value, name) }
}

func work(ids ...string) (out []Work[names]) {
	for _, id := range ids {
		out = append(out, Work[names]{ID: id, Value: "x y"})
	}
	return out
}

// idle lets a first call look in vain.
func idle(t *testing.T, places ...*Place[names]) {
	t.Helper()
	for _, p := range places {
		p.Looking(p.fits)
		if p.Found(nil) || !p.Idle() {
			t.Error("it has found something")
		}
	}
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// takes checks which work a place takes, "" for none.
func takes(t *testing.T, p *Place[names], want string) {
	t.Helper()
	if w, ok := p.Take(); w.ID != want || ok != (want != "") {
		t.Errorf("it takes %q, %v, want %q", w.ID, ok, want)
	}
}

func TestTheFirstOfALineHasTheTurn(t *testing.T) {
	t.Parallel()
	var l Lines[names]
	a, b, other, apart := enter(&l, "x"), enter(&l, "x"), enter(&l, "y"), l.Enter("another user", "x", only("x"))
	if !closed(a.turn) || closed(b.turn) || !closed(other.turn) || !closed(apart.turn) {
		t.Error("the turns are not those of the first of each line")
	}
	a.Leave("")
	if !closed(b.turn) {
		t.Error("the second does not follow the first")
	}
}

func TestWorkThatWasFoundIsTakenInOrderWithoutAnotherLook(t *testing.T) {
	t.Parallel()
	var l Lines[names]
	a, b, c, other := enter(&l, "x"), enter(&l, "x"), enter(&l, "x"), enter(&l, "y")
	if !a.Found(work("1", "2")) {
		t.Error("nothing was found")
	}
	takes(t, a, "1")
	takes(t, b, "2")
	takes(t, c, "")
	if !closed(c.turn) || c.Found(work("1", "2")) || other.Found(work("1", "2")) {
		t.Error("work that is being tried is found again")
	}
	a.Leave("1")
	if c.Found(work("1")) || other.Found(work("1")) {
		t.Error("work that a call has got is found by looks that began before")
	}
	c.Looking(c.fits)
	other.Looking(other.fits)
	if !c.Found(work("1")) || !other.Found(work("1")) {
		t.Error("work that is no longer tried is not found")
	}
	takes(t, other, "1")
	takes(t, c, "")
}

func TestWorkThatAppearsIsGivenToTheOneThatCameFirstOfAllWhoMayHaveIt(t *testing.T) {
	t.Parallel()
	var l Lines[names]
	x1, x2, y1, z := enter(&l, "x"), enter(&l, "x"), enter(&l, "y"), enter(&l, "z")
	idle(t, x1, y1, z)
	l.Offer("user", Work[names]{"1", "x y z"})
	if !closed(x1.Given()) || closed(x2.Given()) || closed(y1.Given()) || closed(z.Given()) {
		t.Error("others than the first are woken")
	}
	l.Offer("another user", Work[names]{"0", "x y z"})
	l.Offer("user", Work[names]{"1", "x y z"}) // it is tried
	idle(t, x2)
	l.Offer("user", Work[names]{"2", "y z"})
	l.Offer("user", Work[names]{"3", "x y z"})
	takes(t, x1, "1")
	takes(t, x2, "3")
	takes(t, y1, "2")
	if closed(z.Given()) {
		t.Error("the last has been given something")
	}
}

func TestOneThatLooksWhileWorkAppearsLooksAgain(t *testing.T) {
	t.Parallel()
	var l Lines[names]
	a, y := enter(&l, "x"), enter(&l, "y")
	a.Looking(a.fits)
	y.Looking(y.fits)
	l.Offer("user", Work[names]{"1", "x"})
	if closed(a.Given()) || a.Found(nil) || a.Idle() {
		t.Error("it waits, though it may have missed what appeared")
	}
	if !y.Idle() {
		t.Error("one looks again for what it may not have")
	}
	a.Looking(a.fits)
	if !a.Found(work("1")) {
		t.Error("it has not found it")
	}
	takes(t, a, "1")
}

func TestWhatOneWasGivenAndDoesNotTakeGoesToTheNext(t *testing.T) {
	t.Parallel()
	var l Lines[names]
	a, b, c := enter(&l, "x"), enter(&l, "y"), enter(&l, "x")
	idle(t, a, b)
	l.Offer("user", work("1")[0])
	a.Leave("") // it was cancelled, or its time is over
	if !closed(b.Given()) || !closed(c.turn) {
		t.Error("the next has not been given it")
	}
	takes(t, b, "1")
}

func TestWhatOneMayNotTakeGoesToTheOthers(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		to    Others
		again bool
		want  string
	}{
		"gone":         {Nobody, false, ""},
		"refused":      {OnlyOther, false, "1"},
		"contended":    {Anybody, false, "1"},
		"offered anew": {Nobody, true, "1"}, // such as a task that another caller claimed and released meanwhile
	} {
		var l Lines[names]
		a, b, c := enter(&l, "x"), enter(&l, "x"), enter(&l, "y")
		idle(t, a)
		l.Offer("user", work("1")[0])
		w, _ := a.Take()
		idle(t, b, c)
		if s.again {
			l.Offer("user", w)
		}
		a.Lost(w, s.to)
		if closed(b.Given()) != (s.want != "") || closed(c.Given()) {
			t.Errorf("%s: the next has it: %v, the last: %v", name, closed(b.Given()), closed(c.Given()))
		}
		// The one that lost comes before all that came later.
		d := enter(&l, "x")
		b.Leave(s.want)
		if !closed(a.turn) || closed(d.turn) {
			t.Errorf("%s: the turn is that of the one that lost: %v, of a later one: %v", name, closed(a.turn), closed(d.turn))
		}
	}
}

func TestAfterItsDeadlineACallWaitsOnlyWhileTheFirstLooks(t *testing.T) {
	t.Parallel()
	var l Lines[names]
	a, b := enter(&l, "x"), enter(&l, "x")
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
	a.Looking(a.fits)
	go func() { got <- b.Turn(t.Context(), time.Now(), nil, nil) }()
	a.Leave("")
	if !<-got {
		t.Error("it does not get the turn of one that left")
	}
}

func TestACallThatIsEndedGetsNoTurn(t *testing.T) {
	t.Parallel()
	var l Lines[names]
	enter(&l, "x")
	b := enter(&l, "x")
	end := make(chan struct{})
	close(end)
	later := time.Now().Add(time.Minute)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if b.Turn(t.Context(), later, end, nil) || b.Turn(t.Context(), later, nil, end) || b.Turn(gone, later, nil, nil) {
		t.Error("it has a turn")
	}
}

func TestLinesThatAllHaveLeftAreForgotten(t *testing.T) {
	t.Parallel()
	var l Lines[names]
	a, b := enter(&l, "x"), enter(&l, "y")
	a.Found(work("1"))
	takes(t, a, "1")
	b.Leave("")
	if len(l.owners) != 1 {
		t.Error("an owner with work that is tried is forgotten")
	}
	a.Leave("1")
	if len(l.owners) != 0 {
		t.Errorf("%d owners are kept", len(l.owners))
	}
}
