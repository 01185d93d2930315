//go:build unix && !linux

package launch_test

// dumpable is known on Linux alone.
func dumpable() (int, error) { return 0, nil }
