package launch_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// dumpable returns 0 if other processes of the user cannot read the memory of this one.
func dumpable() (int, error) { return unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0) }

func TestAttackTheMemoryOfAProtectedProcessIsNotReadable(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=protect")
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(0, nil, nil) {
		t.Errorf("got %s, %v", out, err)
	}
}
