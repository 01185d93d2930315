package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// root returns the root directory of this repository, derived from the module of the working directory.
func root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("cannot determine the module: %w", err)
	}
	functions := filepath.Dir(strings.TrimSpace(string(out)))
	if filepath.Base(functions) != "functions" {
		return "", errors.New("the working directory must be in the module functions: cd functions")
	}
	return filepath.Dir(functions), nil
}

// build builds the hub and the local server of the functions as they ship.
func build(ctx context.Context, hub, local string) error {
	at, err := root(ctx)
	if err != nil {
		return err
	}
	for _, b := range []struct{ dir, pkg, to string }{{"services/hub", ".", hub}, {"functions", "./cmd/local", local}} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", b.to, b.pkg)
		cmd.Dir = filepath.Join(at, filepath.FromSlash(b.dir))
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build %s: %w\n%s", b.dir, err, out)
		}
	}
	return nil
}

// Run runs a command of the hub's program on the stack's store and returns its output without surrounding white space.
func (s *Stack) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.parley, append(args, "--store", "firestore", "--project", Project)...)
	cmd.Env = s.env()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("parley %s: %w\n%s", args[0], err, &said)
	}
	return strings.TrimSpace(out.String()), nil
}
