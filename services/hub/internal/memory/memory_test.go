package memory_test

import (
	"math"
	"runtime/debug"
	"testing"

	"parley.internal/services/hub/internal/memory"
)

// The tests set variables and the limit of the process, so they are not parallel.

func TestALimitThatIsSetIsKept(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "300MiB")
	before := debug.SetMemoryLimit(300 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if n, err := memory.Limit(); n != 300<<20 || err != nil {
		t.Errorf("got %d, %v; want 300 MiB", n, err)
	}
	if n := debug.SetMemoryLimit(-1); n != 300<<20 {
		t.Errorf("the limit is now %d", n)
	}
}

func TestTheLimitIsFiniteOnEveryMachine(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	n, err := memory.Limit()
	if err != nil || n < 1<<20 || n == math.MaxInt64 {
		t.Errorf("got %d, %v", n, err)
	}
	if now := debug.SetMemoryLimit(-1); now != math.MaxInt64 && now != n {
		t.Errorf("the collector's limit is %d, and %d was returned", now, n)
	}
}

func TestACgroupThatCannotBeReadIsReported(t *testing.T) {
	t.Setenv("AUTOMEMLIMIT", "much")
	if _, err := memory.Limit(); err == nil {
		t.Error("no error")
	}
}
