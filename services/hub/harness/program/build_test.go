package program_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/program"
)

func TestTheProgramIsBuiltAndRuns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "parley")
	if err := program.Build(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), file, "version").CombinedOutput(); err != nil || len(out) == 0 {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestTheErrorOfAFailedBuildTellsWhy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := program.Build(t.Context(), filepath.Join(file, "parley"))
	if err == nil || !strings.Contains(err.Error(), "cannot build the hub") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := program.Build(ctx, filepath.Join(t.TempDir(), "parley")); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled build: got %v", err)
	}
}
