package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"parley.internal/services/hub/internal/gitcall"
)

// maxOutput is the size of the largest output of git that is read.
const maxOutput = 2 << 20

// ErrTooMany means that more differs than a snapshot holds.
var ErrTooMany = errors.New("too many files of the worktree differ from its last commit")

// git runs git in a worktree and returns its output.
func git(ctx context.Context, call gitcall.Call, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := call.Command(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(out, maxOutput+1))
	if len(text) > maxOutput {
		cancel()
		_ = cmd.Wait() // it was killed
		return nil, ErrTooMany
	}
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return text, nil
}

// status returns the commit that is checked out, empty for none, and the files that differ from it.
func status(ctx context.Context, call gitcall.Call) (head string, names []string, err error) {
	out, err := git(ctx, call, "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames",
		"--untracked-files=all", "--ignore-submodules=all")
	if err != nil {
		return "", nil, err
	}
	for line := range strings.SplitSeq(string(out), "\x00") {
		fields := map[string]int{"1": 8, "u": 10, "?": 1}
		kind, _, _ := strings.Cut(line, " ")
		if oid, ok := strings.CutPrefix(line, "# branch.oid "); ok && oid != "(initial)" {
			head = oid
		}
		n, ok := fields[kind]
		if !ok {
			continue
		}
		if parts := strings.SplitN(line, " ", n+1); len(parts) == n+1 && !strings.HasSuffix(parts[n], "/") {
			names = append(names, parts[n])
		}
	}
	if len(names) > maxFiles {
		return "", nil, ErrTooMany
	}
	return head, names, nil
}

// moved returns the files of the commits by which two states of the worktree differ, but for those commits that a remote is
// known to have: others have told of them.
func moved(ctx context.Context, call gitcall.Call, from, to string) ([]string, error) {
	if from == to || to == "" {
		return nil, nil
	}
	span := to
	if from != "" {
		span = from + "..." + to
	}
	out, err := git(ctx, call, "log", "--format=", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff",
		"--no-textconv", "--ignore-submodules=all", "--diff-merges=combined", span, "--not", "--remotes", "--")
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name = strings.TrimPrefix(name, "\n"); name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}
