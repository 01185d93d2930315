package checkout

import (
	"context"
	"errors"
	"os/exec"
	"strings"
)

// maxBranch is the number of characters of a branch's name that the server takes.
const maxBranch = 200

// Branch returns the name of the branch that is checked out, at most 200 characters of it, empty for a commit without
// one.
func (c *Checkout) Branch(ctx context.Context) (string, error) {
	const none = 1 // the exit status of git where HEAD is no branch
	out, err := c.git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == none {
		return "", nil
	}
	name := []rune(strings.TrimRight(string(out), "\n"))
	return string(name[:min(len(name), maxBranch)]), err
}
