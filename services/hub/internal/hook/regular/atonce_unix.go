//go:build !windows

package regular

import "syscall"

// atOnce keeps the opening of a pipe or a terminal from waiting for its other end, and a terminal from becoming this
// process's own.
const atOnce = syscall.O_NONBLOCK | syscall.O_NOCTTY
