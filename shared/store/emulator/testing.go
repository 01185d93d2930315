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

// RequireVariable, set to 1, makes a missing emulator a failure.
const RequireVariable = "REQUIRE_EMULATOR"

// Required says whether a missing emulator is a failure here.
func Required() bool { return os.Getenv(RequireVariable) == "1" }

// It is never stopped: it ends with the process, and a test binary has no other
// end that every package shares.
var shared = sync.OnceValues(func() (*Emulator, error) { return Start(context.Background()) })

// Shared is the host:port of the emulator of this test process. Where the
// machine has none the test is skipped, or fails where REQUIRE_EMULATOR is 1.
func Shared(t testing.TB) string {
	t.Helper()
	e, err := shared()
	switch {
	case err == nil:
		return e.Addr
	case errors.Is(err, ErrNone) && !Required():
		t.Skip(err)
	default:
		t.Fatal(err)
	}
	return ""
}

// Project is a project id that no other test has, so that tests share an
// emulator and no document. The prefix keeps every client from the cloud.
func Project(t testing.TB) string {
	t.Helper()
	return "demo-" + strings.ToLower(rand.Text()[:16])
}
