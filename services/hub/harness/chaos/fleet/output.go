package fleet

import (
	"bytes"
	"io"
	"regexp"
	"sync"
)

// output passes on the output of a hub. It extracts the hub's URL and whether its calls in flight were cut off.
type output struct {
	next io.Writer
	url  chan string // receives the hub's URL, once

	mu    sync.Mutex
	line  []byte // the last line, which is incomplete
	found bool   // the URL was found
	late  bool
}

var (
	serves = regexp.MustCompile(`serves MCP at (http://\S+)/mcp and REST at`)
	late   = regexp.MustCompile(`^parley: .*(?i:deadline ?exceeded)`)
)

func newOutput(next io.Writer) *output { return &output{next: next, url: make(chan string, 1)} }

// Write implements io.Writer.
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

// cutOff reports whether the hub exceeded the time limit for its calls in flight.
func (o *output) cutOff() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.late || late.Match(o.line)
}
