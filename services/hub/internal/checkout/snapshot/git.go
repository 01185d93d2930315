package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// maxOutput is the size of the largest output of git that is read.
const maxOutput = 2 << 20

// ErrTooMany means that more differs than a snapshot holds.
var ErrTooMany = errors.New("too many files of the worktree differ from its last commit")

// calm are settings with which git runs no program and reaches no server.
var calm = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "protocol.allow=never",
	"-c", "log.showSignature=false"}

// git runs git in a worktree, with further settings, and returns its output.
func git(ctx context.Context, root string, settings []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	line := append([]string{"-C", root}, calm...)
	cmd := exec.CommandContext(ctx, "git", append(append(line, settings...), args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // they may name another repository
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0")
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

// withoutFilters returns the settings that switch off the programs of the repository through which git passes files before it
// compares them.
func withoutFilters(ctx context.Context, root string) ([]string, error) {
	out, err := git(ctx, root, nil, "config", "--null", "--name-only", "--get-regexp", `^filter\.`)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == 1 {
		return nil, nil // there is none
	}
	var settings []string
	for name := range bytes.SplitSeq(out, []byte{0}) {
		switch key := string(name[bytes.LastIndexByte(name, '.')+1:]); key {
		case "clean", "smudge", "process", "required":
			settings = append(settings, "-c", string(name)+"=")
		}
	}
	return settings, err
}

// status returns the commit that is checked out, empty for none, and the files that differ from it.
func status(ctx context.Context, root string, settings []string) (head string, names []string, err error) {
	out, err := git(ctx, root, settings, "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames",
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
func moved(ctx context.Context, root string, settings []string, from, to string) ([]string, error) {
	if from == to || to == "" {
		return nil, nil
	}
	span := to
	if from != "" {
		span = from + "..." + to
	}
	out, err := git(ctx, root, settings, "log", "--format=", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff",
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
