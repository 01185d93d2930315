package hubtest

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley.internal/services/hub/harness/program"
	"parley.internal/shared/supervise"
)

// Build builds the program that ships and returns its path, which is valid until the test ends. The test must run in the
// harness's module.
func Build(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "parley")
	Must(t, program.Build(t.Context(), binary))
	return binary
}

// Program is the program that ships, as a server in a process of its own with an empty embedded store.
type Program struct {
	*supervise.Service
	// Data is its data directory, and Log its output so far.
	Data string
	Log  *supervise.Output
}

// Start builds the program and starts it, with further environment variables and flags. When the test ends, the program
// must end by itself within 20 seconds of SIGTERM, and without an error.
func Start(t testing.TB, env []string, flags ...string) *Program {
	t.Helper()
	binary, home := Build(t), t.TempDir()
	p := &Program{Data: filepath.Join(home, "data"), Log: &supervise.Output{}}
	server := supervise.Server{Path: "/v1/health", Status: http.StatusOK, Output: p.Log, Grace: 20 * time.Second,
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PARLEY_KEYRING=off"}, env...),
		Args: func(addr string) []string {
			return append([]string{binary, "serve", "--addr", addr, "--data", p.Data}, flags...)
		}}
	var err error
	p.Service, err = server.Start(t.Context())
	Must(t, err)
	t.Cleanup(func() {
		p.Stop()
		if code, known := p.ExitCode(); code != 0 || !known {
			t.Errorf("the server did not end as it should: code %d, known %v", code, known)
		}
		if t.Failed() {
			t.Logf("the server's log:\n%s", p.Log)
		}
	})
	return p
}
