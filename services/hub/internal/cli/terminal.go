package cli

import (
	"errors"
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

// keyByKey lets a terminal hand over each key at once and show none. A Ctrl-C is a key too then, and a new line needs a
// carriage return. The returned function restores the terminal.
func keyByKey(stream any) (restore func() error, err error) {
	f, isFile := stream.(*os.File)
	if !isFile {
		return nil, errors.New("it is not a terminal")
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var before *term.State
	var failed error
	if err := conn.Control(func(fd uintptr) { before, failed = term.MakeRaw(int(fd)) }); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	return func() error {
		var failed error
		err := conn.Control(func(fd uintptr) { failed = term.Restore(int(fd), before) })
		return errors.Join(err, failed)
	}, nil
}
