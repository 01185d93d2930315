package program_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/program"
)

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
