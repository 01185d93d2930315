package executabletest

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program that its owner and others may run, so that it can be run at once. A process that another test
// starts while the file is open for writing inherits it for a moment, and the kernel refuses to run such a file ("text
// file busy", https://go.dev/issue/22315); no process starts while Write has it open.
func Write(t testing.TB, name string, content []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o755); err != nil {
		t.Fatal(err)
	}
}
