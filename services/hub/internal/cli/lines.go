package cli

import (
	"io"
	"sync"
)

// maxHeld is the number of buffered bytes beyond which Write blocks.
const maxHeld = 1 << 20

// lines is a writer that writes log lines in the background. It writes the lines that arrive during a write together,
// so that a busy server makes one system call for many lines. Close writes the rest. It is safe for concurrent use.
type lines struct {
	out io.Writer

	mu     sync.Mutex
	turn   *sync.Cond // signals that lines arrived, or were written
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

// Write buffers a line, and returns no error of the underlying writer. After Close it writes the line at once.
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
		// There is no place to report that the log cannot be written.
		_, _ = l.out.Write(writing)
		l.mu.Lock()
	}
}

// Close writes the buffered lines and ends the background writer.
func (l *lines) Close() error {
	l.mu.Lock()
	l.closed = true
	l.turn.Broadcast()
	l.mu.Unlock()
	<-l.done
	return nil
}
