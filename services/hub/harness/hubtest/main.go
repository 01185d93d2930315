package hubtest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// patience is how long goroutines may take to end after the tests.
const patience = 10 * time.Second

// Main runs a package's tests, and fails them where they leave goroutines behind.
// after runs before the process ends.
func Main(m *testing.M, after ...func()) {
	code := m.Run()
	for _, f := range after {
		f()
	}
	if code == 0 {
		if left := leftovers(); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "FAIL: goroutines outlive the tests:\n\n%s\n", bytes.Join(left, []byte("\n\n")))
			code = 1
		}
	}
	os.Exit(code)
}

// leftovers are the stacks of this program's goroutines that do not end.
func leftovers() [][]byte {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		if left := stacks(); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

func stacks() [][]byte {
	text := make([]byte, 4<<20)
	text = text[:runtime.Stack(text, true)]
	var left [][]byte
	for _, s := range bytes.Split(text, []byte("\n\n")) {
		ours := bytes.Contains(s, []byte("parley.internal/")) || bytes.Contains(s, []byte("mcp-go"))
		// The emulator of a test process ends with it, by design.
		if ours && !bytes.Contains(s, []byte("hubtest.Main")) && !bytes.Contains(s, []byte("shared/supervise")) {
			left = append(left, s)
		}
	}
	return left
}
