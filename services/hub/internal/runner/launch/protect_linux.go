package launch

import "golang.org/x/sys/unix"

// Protect keeps other processes of the same user from reading the memory and the environment of this one, and its
// memory from core dumps. The processes that it starts are not protected. On systems other than Linux it does nothing.
func Protect() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
