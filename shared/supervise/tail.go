package supervise

import (
	"bytes"
	"io"
	"sync"
)

// tail keeps the end of the text that is written to it, and passes all of it on.
type tail struct {
	next io.Writer // may be nil

	mu   sync.Mutex
	text []byte
}

const tailSize = 8 << 10

// Write implements io.Writer. It keeps the last tailSize bytes and passes all on to next, if there is one.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	if t.next != nil {
		return t.next.Write(b)
	}
	return len(b), nil
}

// String returns the text that is kept, without surrounding white space.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
