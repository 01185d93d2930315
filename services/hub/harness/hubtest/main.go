package hubtest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// patience limits the time in which goroutines must end after the tests.
const patience = 10 * time.Second

// Main is for the TestMain of a package: it runs the tests and then the functions in after, and ends the process. It
// fails if goroutines of Parley or mcp-go are still running ten seconds later.
func Main(m *testing.M, after ...func()) {
	code := m.Run()
	for _, f := range after {
		f()
	}
	if code == 0 {
		if left := remaining(); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "FAIL: goroutines are running after the tests:\n\n%s\n",
				bytes.Join(left, []byte("\n\n")))
			code = 1
		}
	}
	os.Exit(code)
}

// remaining returns the stacks of the goroutines that do not end within patience.
func remaining() [][]byte {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		if left := stacks(); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// stacks returns the stacks of the running goroutines of Parley and mcp-go.
func stacks() [][]byte {
	text := make([]byte, 4<<20)
	text = text[:runtime.Stack(text, true)]
	var left [][]byte
	for _, s := range bytes.Split(text, []byte("\n\n")) {
		ours := bytes.Contains(s, []byte("parley.internal/")) || bytes.Contains(s, []byte("mcp-go"))
		// The supervisor of the emulator runs until the test process ends.
		if ours && !bytes.Contains(s, []byte("hubtest.Main")) && !bytes.Contains(s, []byte("shared/supervise")) {
			left = append(left, s)
		}
	}
	return left
}
