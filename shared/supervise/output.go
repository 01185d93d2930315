package supervise

import (
	"bytes"
	"sync"
)

// Output collects the output of a program. It may be read while the program writes. The zero value is empty.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the text so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
