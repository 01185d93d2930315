package filelock

import "errors"

// ErrHeld is the error of [Try] if another process has the lock.
var ErrHeld = errors.New("another process has the lock")
