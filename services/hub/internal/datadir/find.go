package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley.internal/services/hub/internal/gitcall"
)

// name is the name of a data directory that nobody names.
const name = ".parley"

// Choice is the directory of a command that names none.
type Choice struct {
	// Dir is empty if the home directory is unknown and there is no other that can be trusted.
	Dir string
	// Note names the directory and the reason, where more than one could be meant; else it is empty.
	Note string
}

// Find returns the nearest .parley in the working directory or above it that can be trusted, or else that of the home
// directory, which is empty if it is unknown. It trusts a directory that is the user's own, has the mode 0700 and is not
// tracked by git, so that no cloned repository and no other user chooses a server.
func Find(ctx context.Context, work, home string) Choice {
	atHome := ""
	if home != "" {
		atHome = filepath.Join(home, name)
	}
	var refused, others []string
	taken := ""
	for dir := work; ; dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, name)
		if info, err := os.Lstat(candidate); err == nil && candidate != atHome {
			switch why := trusted(ctx, candidate, info); {
			case why != nil:
				refused = append(refused, fmt.Sprintf("%s is not used: %v", candidate, why))
			case taken == "":
				taken = candidate
			default:
				others = append(others, candidate)
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if taken == "" {
		taken = atHome
	} else if _, err := os.Lstat(atHome); atHome != "" && !errors.Is(err, fs.ErrNotExist) {
		others = append(others, atHome)
	}
	c := Choice{Dir: taken}
	if len(refused)+len(others) > 0 {
		said := refused
		if taken != "" {
			said = append(said, "the data directory is "+taken)
		}
		if len(others) > 0 {
			said = append(said, "there is "+strings.Join(others, " and ")+" as well")
		}
		c.Note = strings.Join(said, "; ") + " (name one with --data or PARLEY_DATA)"
	}
	return c
}

// trusted returns why a directory is not trusted, or nil.
func trusted(ctx context.Context, dir string, info fs.FileInfo) error {
	if !info.IsDir() {
		return errors.New("it is not a directory")
	}
	if err := private(info); err != nil {
		return err
	}
	return untracked(ctx, dir)
}

// gitPatience is the time limit of git's answer.
const gitPatience = 10 * time.Second

// untracked returns an error if a repository tracks a directory or files in it, or if that cannot be known.
func untracked(ctx context.Context, dir string) error {
	parent := filepath.Dir(dir)
	if !inRepository(parent) {
		return nil
	}
	if dir := bareAbove(parent); dir != "" {
		return fmt.Errorf("%s has the files of a bare repository, by which git would be led astray", dir)
	}
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	files, err := gitcall.Call{Dir: parent}.Command(ctx, "ls-files", "--cached", "-z", "--",
		":(icase)"+filepath.Base(dir)).Output()
	switch {
	case err != nil:
		return fmt.Errorf("git does not tell whether it is tracked (%w)", err)
	case len(files) > 0:
		return errors.New("git tracks it")
	}
	return nil
}

// bareAbove returns the directory between dir and the root of its repository that git before 2.38 takes for a bare repository,
// if there is one: a commit can hold such a directory, with settings of its own.
func bareAbove(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return ""
		}
		there := 0
		for _, name := range []string{"HEAD", "objects", "refs"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				there++
			}
		}
		if there == 3 {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}
