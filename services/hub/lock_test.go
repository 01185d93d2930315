package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lock runs infra/lock beside the Dockerfile and an earlier lock file of images, and returns its output, the calls of
// programs, and the lock file that it leaves.
func lock(t *testing.T, programs []string, env ...string) (said string, calls []string, images string, err error) {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"services/hub/Dockerfile": string(text), "infra/images.lock": "earlier\n"}
	root, said, calls, err := script(t, "infra/lock", files, programs, env)
	left, readErr := os.ReadFile(filepath.Join(root, "infra", "images.lock"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	return said, calls, string(left), err
}

func TestLockingWritesTheDigestsThatADeploymentReads(t *testing.T) {
	t.Parallel()
	said, calls, images, err := lock(t, []string{"go", "terraform"})
	if err != nil || images != locks()["infra/images.lock"] {
		t.Fatalf("%v\n%s\nleaves\n%s", err, said, images)
	}
	for _, want := range []string{" digest golang:1.26", " digest gcr.io/distroless/static-debian12:nonroot",
		"terraform -chdir=infra providers lock -platform=linux_amd64"} {
		if !slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, want) }) {
			t.Errorf("no call has %q: %q", want, calls)
		}
	}
}

func TestLockingThatFailsKeepsTheEarlierDigests(t *testing.T) {
	t.Parallel()
	both := []string{"go", "terraform"}
	for _, c := range []struct {
		name     string
		programs []string
		env, say string
	}{
		{"no Terraform", []string{"go"}, "FAIL=nothing", "not on the PATH: terraform 1.11 or newer"},
		{"no registry", both, "FAIL=digest gcr.io", "the digest of gcr.io/distroless/static-debian12:nonroot could not"},
		{"no digest", both, "DIGEST=latest", `the digest of golang:1.26.8-bookworm is "latest"`},
		{"no providers", both, "FAIL=providers lock", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			said, _, images, err := lock(t, c.programs, c.env)
			if err == nil || !strings.Contains(said, c.say) || images != "earlier\n" {
				t.Errorf("%v\n%s\nleaves\n%s", err, said, images)
			}
		})
	}
}
