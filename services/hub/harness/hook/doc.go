// Package hook holds the tests of the hooks' programs with a whole hub: parley-hook and the daemon that it starts run as
// processes of their own, as a client starts them, and are killed as one kills them.
package hook
