package scale

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"
)

// watchEvery is the interval between two readings of the server's usage.
const watchEvery = 250 * time.Millisecond

// watch reads a process's memory and processor time until ctx ends. The returned function waits for that end, and
// returns the largest resident set in bytes and the processor time.
func watch(ctx context.Context, pid int) func() (peak int64, processor time.Duration, err error) {
	var peak int64
	var processor time.Duration
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			if peak, processor, failed = uses(pid); failed != nil {
				failed = fmt.Errorf("cannot read the usage of the server, which needs Linux: %w", failed)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() (int64, time.Duration, error) {
		<-done
		return peak, processor, failed
	}
}

// ticks is the number of the kernel's ticks in a second (USER_HZ), which is the same on all platforms of Go.
const ticks = 100

// uses returns the largest resident set of a process so far, in bytes, and the time of the processors that it has used.
func uses(pid int) (peak int64, processor time.Duration, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range bytes.Lines(status) {
		var kib int64
		if n, _ := fmt.Sscanf(string(line), "VmHWM: %d kB", &kib); n == 1 {
			peak = kib << 10
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	// The name, in parentheses, may contain anything; user and system time are the 12th and 13th field after it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var user, system int64
	if len(fields) > 12 {
		_, _ = fmt.Sscanf(string(fields[11])+" "+string(fields[12]), "%d %d", &user, &system)
	}
	if peak == 0 || user+system == 0 {
		return 0, 0, fmt.Errorf("process %d does not tell its VmHWM and its times", pid)
	}
	return peak, time.Duration(user+system) * time.Second / ticks, nil
}
