package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made is the output of cyclonedx-gomod for a binary, as of a time.
func made(at, serial, hash string) string {
	return fmt.Sprintf(`{"bomFormat":"CycloneDX","specVersion":"1.5","serialNumber":%q,"version":1,
		"metadata":{"timestamp":%q,"tools":[{"name":"cyclonedx-gomod","version":"v1.7.0",
			"hashes":[{"alg":"SHA-256","content":%q}]}],"component":{"name":"parley","version":"v1.2.3"},
			"properties":[{"name":"cdx:gomod:build:env:GOARCH","value":"arm64"},{"name":"cdx:gomod:build:env:GOOS","value":"windows"}]},
		"components":[{"name":"a","version":"v1.0.0","hashes":[{"alg":"SHA-256","content":"00"}]}]}`, serial, at, hash)
}

func TestTwoRunsOverTheSameBinaryGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	one, err := reproducible([]byte(made("2026-11-22T10:00:00Z", "urn:uuid:1", "aa")))
	if err != nil {
		t.Fatal(err)
	}
	two, err := reproducible([]byte(made("2027-01-01T00:00:00Z", "urn:uuid:2", "bb")))
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("%s\nand\n%s, %v", one, two, err)
	}
	for _, want := range []string{`"name": "cyclonedx-gomod"`, `"name": "parley"`, `"name": "a"`, `"content": "00"`} {
		if !bytes.Contains(one, []byte(want)) {
			t.Errorf("it lost %s:\n%s", want, one)
		}
	}
}

func TestInputThatListsNothingIsRefusedAndWritesNoFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"empty":         {"", "reading"},
		"cut":           {made("", "", "")[:100], "reading"},
		"not CycloneDX": {`{"spdxVersion":"SPDX-2.3"}`, "not a CycloneDX"},
		"no components": {`{"bomFormat":"CycloneDX","components":[]}`, "no components"},
	} {
		out := filepath.Join(t.TempDir(), "parley.cdx.json")
		if err := run(strings.NewReader(c.in), out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s: a file was written, %v", name, err)
		}
	}
}
