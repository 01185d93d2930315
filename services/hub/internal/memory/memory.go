package memory

import (
	"fmt"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// assumed is the limit of a machine that does not tell its memory.
const assumed = 2 << 30

// Limit sets GOMEMLIMIT to nine tenths of the memory of the process's cgroup, unless the variable GOMEMLIMIT is set or
// the cgroup has no limit. It returns the number of bytes that the process may take: GOMEMLIMIT, or else the memory of the
// machine.
func Limit() (int64, error) {
	limit, err := memlimit.Set()
	if err != nil {
		return 0, fmt.Errorf("cannot read the memory limit of the cgroup: %w (set GOMEMLIMIT)", err)
	}
	if limit < math.MaxInt64 {
		return limit, nil
	}
	if n, err := memlimit.FromSystem(); err == nil && n > 0 && n < math.MaxInt64 {
		return int64(n), nil
	}
	return assumed, nil
}
