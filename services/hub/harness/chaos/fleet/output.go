package fleet

import (
	"bytes"
	"io"
	"regexp"
	"sync"
)

// output passes on all that a hub writes, and picks out its URL and whether its last work was cut off.
type output struct {
	next io.Writer
	url  chan string // gets the hub's, once

	mu    sync.Mutex
	line  []byte // the last one, which has not ended
	found bool   // the URL
	late  bool
}

var (
	serves = regexp.MustCompile(`serves MCP at (http://\S+)/mcp and REST at`)
	late   = regexp.MustCompile(`^parley: .*(?i:deadline ?exceeded)`)
)

func newOutput(next io.Writer) *output { return &output{next: next, url: make(chan string, 1)} }

// Write is called by one goroutine at a time.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line = append(o.line, b...)
	for {
		line, rest, whole := bytes.Cut(o.line, []byte("\n"))
		if !whole {
			break
		}
		o.read(line)
		o.line = bytes.Clone(rest)
	}
	return o.next.Write(b)
}

func (o *output) read(line []byte) {
	if m := serves.FindSubmatch(line); m != nil && !o.found {
		o.found = true
		o.url <- string(m[1])
	}
	o.late = o.late || late.Match(line)
}

// cutOff reports whether the hub ran out of the time that it gives its last work.
func (o *output) cutOff() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.late || late.Match(o.line)
}
