//go:build linux || darwin || freebsd

package doctor

import "syscall"

// freeIn returns the number of bytes that users other than root may still write in a directory.
func freeIn(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	// Some systems report a negative number once only root may write.
	return uint64(max(int64(s.Bavail), 0)) * uint64(s.Bsize), nil
}
