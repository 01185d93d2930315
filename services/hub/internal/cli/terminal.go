package cli

import (
	"os"

	"golang.org/x/term"
)

// terminalSize returns how many columns and lines a stream's terminal has; ok is false for a stream that is not a
// terminal. A terminal that does not know its size, such as a serial line, counts as 80 by 24.
func terminalSize(stream any) (width, height int, ok bool) {
	f, isFile := stream.(*os.File)
	if !isFile {
		return 0, 0, false
	}
	// Not f.Fd(), which would put the file into blocking mode.
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	var sizeErr error
	err = conn.Control(func(fd uintptr) { width, height, sizeErr = term.GetSize(int(fd)) })
	if err != nil || sizeErr != nil {
		return 0, 0, false
	}
	if width == 0 || height == 0 {
		width, height = 80, 24
	}
	return width, height, true
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	_, _, ok := terminalSize(stream)
	return ok
}
