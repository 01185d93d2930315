package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// patience gives hooks ten seconds more for each answer.
const patience = "-ldflags=-X " + module + "/internal/hook/process.slack=10s"

// BuildPatient compiles the hub's program as [Build] does, with a daemon of hooks that has time on a busy machine.
func BuildPatient(ctx context.Context, out string) error { return compile(ctx, out, ".", patience) }

// BuildPatientHook compiles the program of the hooks as [BuildHook] does, with time on a busy machine.
func BuildPatientHook(ctx context.Context, out string) error {
	return compile(ctx, out, "./cmd/parley-hook", patience)
}

// laterSource makes a program a later version, which keeps an index more in the embedded store.
const laterSource = `package task

func init() { Tasks.Indexes = append(Tasks.Indexes, "target") }
`

// BuildLater compiles the hub's program as [Build] does, as a later version of it whose embedded store has other indexes.
func BuildLater(ctx context.Context, out string) (err error) {
	shared, err := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", "parley.internal/shared")
	if err != nil {
		return fmt.Errorf("cannot find the shared module: %w", err)
	}
	dir, err := os.MkdirTemp("", "parley-later-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	added, overlay := filepath.Join(dir, "later.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(shared, "task", "later.go"): added}})
	if err != nil {
		return err
	}
	err = errors.Join(os.WriteFile(added, []byte(laterSource), 0o600), os.WriteFile(overlay, text, 0o600))
	if err != nil {
		return err
	}
	return compile(ctx, out, ".", "-overlay", overlay)
}

func build(ctx context.Context, out, pkg string, tags ...string) error {
	return compile(ctx, out, pkg, "-tags", strings.Join(tags, ","))
}

// compile compiles a package of the hub's module with flags of go build.
func compile(ctx context.Context, out, pkg string, flags ...string) error {
	dir, err := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return fmt.Errorf("cannot find the hub's module: %w", err)
	}
	args := append([]string{"-C", dir, "build", "-trimpath"}, flags...)
	if _, err := goCommand(ctx, append(args, "-o", out, pkg)...); err != nil {
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
