package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// slow is a writer whose writes wait for a signal of the test.
type slow struct {
	bytes.Buffer
	writes int
	let    chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.let
	s.writes++
	return s.Buffer.Write(p)
}

func TestLinesAreWrittenInOrderWithFewWrites(t *testing.T) {
	t.Parallel()
	out := &slow{let: make(chan struct{})}
	l := newLines(out)
	const each = 500
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range each {
				fmt.Fprintf(l, "%d %d\n", w, i)
			}
		})
	}
	wg.Wait() // no Write waited for the writer
	close(out.let)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	next := map[int]int{}
	for line := range strings.Lines(out.String()) {
		var w, i int
		if _, err := fmt.Sscanf(line, "%d %d\n", &w, &i); err != nil || i != next[w] {
			t.Fatalf("%q after line %d: %v", line, next[w], err)
		}
		next[w]++
	}
	for w := range 4 {
		if next[w] != each {
			t.Errorf("%d lines of %d", next[w], w)
		}
	}
	if out.writes > 2 {
		t.Errorf("%d lines took %d writes", 4*each, out.writes)
	}
}

func TestAFullBufferBlocksWrites(t *testing.T) {
	t.Parallel()
	out := &slow{let: make(chan struct{})}
	l := newLines(out)
	line := bytes.Repeat([]byte("x"), maxHeld/4)
	var wrote sync.WaitGroup
	wrote.Go(func() {
		for range 40 {
			if _, err := l.Write(line); err != nil {
				t.Error(err)
			}
			l.mu.Lock()
			if held := len(l.held); held > maxHeld+2*len(line) {
				t.Errorf("%d bytes are buffered", held)
			}
			l.mu.Unlock()
		}
	})
	close(out.let)
	wrote.Wait()
	if err := l.Close(); err != nil || out.Len() != 40*len(line) {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

func TestLinesAfterCloseAreWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newLines(&out)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(l, "late\n"); err != nil || out.String() != "late\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
