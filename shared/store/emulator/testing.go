package emulator

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
)

// RequireVariable is the environment variable that, set to 1, makes a missing emulator, or any other program that a test
// needs, a failure.
const RequireVariable = "REQUIRE_EMULATOR"

// Required reports whether a missing program is a failure.
func Required() bool { return os.Getenv(RequireVariable) == "1" }

// shared is never stopped. It ends with the process, because a test binary has no hook that runs after all tests of a
// package.
var shared = sync.OnceValues(func() (*Emulator, error) { return Start(context.Background()) })

// Skip skips the test because the machine lacks something that it needs, or fails it if REQUIRE_EMULATOR is 1. Every
// skip of a test goes through it, so that a run that requires everything leaves out nothing.
func Skip(t testing.TB, why ...any) {
	t.Helper()
	if Required() {
		t.Fatal(why...)
	}
	t.Skip(why...)
}

// Shared returns the host:port of the emulator of this test process. If the machine has none, the test is skipped, or
// fails if REQUIRE_EMULATOR is 1.
func Shared(t testing.TB) string {
	t.Helper()
	e, err := shared()
	switch {
	case err == nil:
		return e.Addr
	case errors.Is(err, ErrNone):
		Skip(t, err)
	default:
		t.Fatal(err)
	}
	return ""
}

// Project returns a project id of the test's own, so that tests share an emulator but no document. Its prefix keeps
// clients from connecting to the cloud.
func Project(t testing.TB) string {
	t.Helper()
	return "demo-" + strings.ToLower(rand.Text()[:16])
}
