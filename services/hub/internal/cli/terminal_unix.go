//go:build linux || darwin || freebsd

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// size is how many columns and lines a terminal has; it is not ok for what is none.
func size(stream any) (width, height int, ok bool) {
	f, isFile := stream.(*os.File)
	if !isFile {
		return 0, 0, false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	var s struct{ rows, columns, x, y uint16 }
	errno := syscall.EBADF
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&s)))
	})
	if err != nil || errno != 0 {
		return 0, 0, false
	}
	width, height = int(s.columns), int(s.rows)
	if width == 0 || height == 0 {
		width, height = 80, 24 // a terminal that does not know, as a serial line
	}
	return width, height, true
}
