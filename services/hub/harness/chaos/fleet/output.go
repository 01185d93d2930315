package fleet

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"sync"
)

// output keeps the last of what a hub and its shell write, hands all of it on, and
// picks out what both say of the process.
type output struct {
	next io.Writer
	url  chan string // gets the hub's, once

	mu    sync.Mutex
	line  []byte // the last one, which has not ended
	text  []byte
	pid   int
	ended bool
	code  int
	found bool
}

const tailSize = 8 << 10

var (
	serves = regexp.MustCompile(`serves MCP at (http://\S+)/mcp and REST at`)
	says   = regexp.MustCompile(`^watchdog: (pid|exit) (\d+)$`)
)

func newOutput(next io.Writer) *output { return &output{next: next, url: make(chan string, 1)} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line = append(o.line, b...)
	for {
		line, rest, whole := bytes.Cut(o.line, []byte("\n"))
		if !whole {
			break
		}
		o.read(string(line))
		o.line = bytes.Clone(rest)
	}
	o.text = append(o.text, b...)
	o.text = o.text[max(0, len(o.text)-tailSize):]
	return o.next.Write(b)
}

func (o *output) read(line string) {
	if m := serves.FindStringSubmatch(line); m != nil && !o.found {
		o.found = true
		o.url <- m[1]
	}
	m := says.FindStringSubmatch(line)
	if m == nil {
		return
	}
	n, err := strconv.Atoi(m[2])
	switch {
	case err != nil:
	case m[1] == "pid":
		o.pid = n
	default:
		o.ended, o.code = true, n
	}
}

// process is the hub's, as long as it runs.
func (o *output) process() (pid int, running bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pid, o.pid != 0 && !o.ended
}

// exit is the code with which the hub ended.
func (o *output) exit() (code int, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.code, o.ended
}

var late = regexp.MustCompile(`(?m)^parley: .*(?i:deadline ?exceeded)`)

// cutOff says that the hub ran out of the time that it gives its last work.
func (o *output) cutOff() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return late.Match(o.text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.TrimSpace(o.text))
}
