package firestore

import "testing"

func TestListenersShareAConnectionUntilItIsFull(t *testing.T) {
	t.Parallel()
	d, err := Open(t.Context(), Options{Project: "p", EmulatorHost: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	take := func() *line {
		t.Helper()
		l, err := d.takeLine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := take()
	for i := 1; i < d.MaxListeners(); i++ {
		if l, want := take(), i/perLine+1; len(d.lines) != want || l.listeners > perLine {
			t.Fatalf("listener %d has a connection with %d, one of %d; want %d", i, l.listeners, len(d.lines), want)
		}
	}
	d.leaveLine(first)
	if take() != first {
		t.Error("a place that is free is not taken")
	}
	for range maxLines { // those that take the place of others go beyond, evenly
		if l := take(); l.listeners != perLine+1 || len(d.lines) != maxLines {
			t.Errorf("a connection of %d has %d listeners", len(d.lines), l.listeners)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if l, err := (&Driver{closed: true}).takeLine(t.Context()); err == nil {
		t.Errorf("a closed driver has %+v", l)
	}
}
