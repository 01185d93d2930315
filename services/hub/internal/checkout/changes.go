package checkout

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Staged returns the files that the next commit changes, sorted. Of a merge those are left out that are as in one of its
// parents, because others have committed them.
func (c *Checkout) Staged(ctx context.Context) ([]string, error) {
	files, err := c.staged(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.at(ctx, c.Root, "rev-parse", "--quiet", "--verify", "MERGE_HEAD"); err != nil {
		return files, nil // it is no merge
	}
	theirs, err := c.staged(ctx, "MERGE_HEAD")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(f string) bool {
		_, found := slices.BinarySearch(theirs, f)
		return !found
	}), nil
}

func (c *Checkout) staged(ctx context.Context, against ...string) ([]string, error) {
	out, err := c.at(ctx, c.Root, append([]string{"diff", "--cached", "--name-only", "-z", "--no-renames", "--no-relative",
		"--no-ext-diff"}, append(against, "--")...)...)
	if err != nil {
		return nil, fmt.Errorf("the staged files are unknown: %w", err)
	}
	return names(out), nil
}

// Pushed returns the files of the commits that a push brings to a remote, sorted. The updates are the lines that git gives
// the hook pre-push. Commits that the remote is known to have are left out, and of a merge the files that are as in one
// of its parents.
func (c *Checkout) Pushed(ctx context.Context, remote string, updates io.Reader) ([]string, error) {
	args := []string{"log", "--format=", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff",
		"--diff-merges=combined"}
	var tips, known []string
	lines := bufio.NewScanner(updates)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) == 0:
			continue
		case len(f) != 4:
			return nil, fmt.Errorf("the update %q must be: local ref, local id, remote ref, remote id", lines.Text())
		}
		if !zero(f[1]) {
			tips = append(tips, f[1])
		}
		if !zero(f[3]) {
			if _, err := c.at(ctx, c.Root, "cat-file", "-e", f[3]+"^{commit}"); err == nil {
				known = append(known, f[3])
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("the updates of the push cannot be read: %w", err)
	}
	if len(tips) == 0 {
		return nil, nil
	}
	remotes := "--remotes"
	if _, err := c.at(ctx, c.Root, "remote", "get-url", "--", remote); err == nil {
		remotes += "=" + remote
	}
	args = append(append(append(args, tips...), "--not"), append(known, remotes, "--")...)
	out, err := c.at(ctx, c.Root, args...)
	if err != nil {
		return nil, fmt.Errorf("the files of the pushed commits are unknown: %w", err)
	}
	return names(out), nil
}

// zero reports whether an id of git stands for no object.
func zero(id string) bool { return strings.Trim(id, "0") == "" }

// names returns the different names of a list that is separated by NUL, sorted.
func names(out []byte) []string {
	set := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name = strings.TrimPrefix(name, "\n"); name != "" {
			set[name] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
