package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// module is the path of the hub's module.
const module = "parley.internal/services/hub"

// Build compiles the hub's program to the file out, with the build tags given, and without cgo as the image is built.
// It needs the go command, and a working directory in the harness's module. The error holds the compiler's output.
func Build(ctx context.Context, out string, tags ...string) error {
	return build(ctx, out, ".", tags...)
}

// BuildHook compiles the program of the hooks as [Build] does the hub's. Its name must be parley-hook, and it finds the
// hub's program, parley, beside it.
func BuildHook(ctx context.Context, out string) error { return build(ctx, out, "./cmd/parley-hook") }

func build(ctx context.Context, out, pkg string, tags ...string) error {
	dir, err := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return fmt.Errorf("cannot find the hub's module: %w", err)
	}
	_, err = goCommand(ctx, "-C", dir, "build", "-trimpath", "-tags", strings.Join(tags, ","), "-o", out, pkg)
	if err != nil {
		return fmt.Errorf("cannot build the hub: %w", err)
	}
	return nil
}

// goCommand runs the go command and returns the text that it printed.
func goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return strings.TrimSpace(string(text)), err
}
