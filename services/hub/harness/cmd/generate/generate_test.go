package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

func TestCheckingNamesTheStaleFilesAndWritesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Fatalf("files just written are not up to date: %v", err)
	}
	page := filepath.Join(root, "docs", "tools.md")
	if err := os.WriteFile(page, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "firestore.indexes.json")); err != nil {
		t.Fatal(err)
	}
	err := run(root, true)
	if err == nil {
		t.Fatal("stale files were not reported")
	}
	for _, want := range []string{"docs/tools.md", "firestore.indexes.json", "make generate"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != "mine" {
		t.Errorf("checking wrote: %q, %v", text, err)
	}
}
