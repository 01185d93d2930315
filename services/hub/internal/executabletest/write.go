package executabletest

import (
	"errors"
	"os"
	"os/exec"
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

// Output runs a program that this process may have written itself, past Write, and returns its output, its state and
// the error of exec.Cmd.CombinedOutput. While the kernel refuses to run it because another test's child still has the
// file open ("text file busy"), the command is made and run again: a child has such a file until it runs its own
// program.
func Output(command func() *exec.Cmd) ([]byte, *os.ProcessState, error) {
	for {
		cmd := command()
		text, err := cmd.CombinedOutput()
		if !errors.Is(err, syscall.ETXTBSY) {
			return text, cmd.ProcessState, err
		}
	}
}
