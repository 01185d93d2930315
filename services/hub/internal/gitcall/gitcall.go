package gitcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Call is a way to call git.
type Call struct {
	// Dir is the directory that git is asked about.
	Dir string
	// InHook is set in a hook of git: then its variables say which index and which worktree are meant, and they stay.
	InHook bool
	// Hooks leaves the setting of the hooks' directory as it is, for a command that tells it and runs none.
	Hooks bool
	// Settings are further settings.
	Settings []Setting
}

// Setting is a setting of git. Its name may have any character, also "=".
type Setting struct{ Name, Value string }

// kept are the variables of git that the person sets for all repositories: where the settings of person and machine are,
// where git is, and whether it looks for a repository across file systems.
var kept = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
	"GIT_DISCOVERY_ACROSS_FILESYSTEM"}

// Env returns an environment without the variables of git, but for those that hold for all repositories.
func Env(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		name = strings.ToUpper(name) // as on Windows, where the case says nothing
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(kept, name)
	})
}

// Command returns a command of git with arguments.
func (c Call) Command(ctx context.Context, args ...string) *exec.Cmd {
	// A directory with the files of a bare repository, which a commit can hold, is no repository.
	line := []string{"-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never", "-c", "log.showSignature=false"}
	if !c.Hooks {
		line = append(line, "-c", "core.hooksPath="+os.DevNull)
	}
	cmd := exec.CommandContext(ctx, "git", append(line, args...)...)
	cmd.Dir, cmd.Env = c.Dir, os.Environ()
	if !c.InHook {
		cmd.Env = Env(cmd.Env)
	}
	cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0")
	if c.Dir != "" {
		cmd.Env = append(cmd.Env, "PWD="+c.Dir)
	}
	for i, s := range c.Settings { // -c would take a name up to its first "="
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.Name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.Value))
	}
	if len(c.Settings) > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(c.Settings)))
	}
	return cmd
}

// WithoutFilters returns the call with the programs switched off through which git passes files before it compares them.
func (c Call) WithoutFilters(ctx context.Context) (Call, error) {
	out, err := c.Command(ctx, "config", "--null", "--name-only", "--get-regexp", `^filter\.`).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == 1 {
		return c, nil // there is none
	}
	if err != nil {
		return c, fmt.Errorf("git config: %w", err)
	}
	c.Settings = slices.Clone(c.Settings)
	for name := range bytes.SplitSeq(out, []byte{0}) {
		switch key := string(name[bytes.LastIndexByte(name, '.')+1:]); key {
		case "clean", "smudge", "process", "required":
			c.Settings = append(c.Settings, Setting{string(name), ""})
		}
	}
	return c, nil
}
