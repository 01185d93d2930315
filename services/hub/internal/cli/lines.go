package cli

import (
	"io"
	"sync"
)

// maxHeld is how many bytes of log wait to be written at most; then who writes waits.
const maxHeld = 1 << 20

// lines writes a log off the path of who logs. A line is written as soon as the one
// before is; those that come meanwhile are written together, so a busy server makes
// one system call for many. Close writes what is left.
type lines struct {
	out io.Writer

	mu     sync.Mutex
	turn   *sync.Cond // something waits to be written, or was written
	held   []byte
	closed bool
	done   chan struct{}
}

func newLines(out io.Writer) *lines {
	l := &lines{out: out, done: make(chan struct{})}
	l.turn = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// Write takes a line down. After Close it writes at once.
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && len(l.held) > maxHeld {
		l.turn.Wait()
	}
	if l.closed {
		l.mu.Unlock()
		<-l.done
		l.mu.Lock()
		return l.out.Write(line)
	}
	l.held = append(l.held, line...)
	l.turn.Broadcast()
	return len(line), nil
}

func (l *lines) run() {
	defer close(l.done)
	var writing []byte
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.held) == 0 {
			if l.closed {
				return
			}
			l.turn.Wait()
		}
		writing, l.held = l.held, writing[:0]
		l.turn.Broadcast()
		l.mu.Unlock()
		// There is nowhere to report that a log cannot be written.
		_, _ = l.out.Write(writing)
		l.mu.Lock()
	}
}

// Close writes what is held. What is logged later is written at once.
func (l *lines) Close() error {
	l.mu.Lock()
	l.closed = true
	l.turn.Broadcast()
	l.mu.Unlock()
	<-l.done
	return nil
}
