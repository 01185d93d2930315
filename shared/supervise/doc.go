// Package supervise runs child processes that end with their parent.
//
// A child runs under a small shell that reads a parent-death pipe: the parent holds the only write end, so the pipe
// closes when the parent stops the child, exits, or is killed. The shell then sends SIGTERM to the child and, after a
// grace period, SIGKILL to the child's whole process group. The kernel's own signal on a parent's death
// (PR_SET_PDEATHSIG) requires Linux and a locked thread, and does not reach the child's children; a pipe has neither
// limit. A second pipe reports the child's process ID and exit code to the parent.
//
// [Command] runs any program, [Server] one that listens for HTTP. Both need a POSIX shell.
//
// The package is for tests and development: the emulator, the local stack, the chaos run. No package that ships may
// import it, and it does not support processes that must survive their parent, such as the members that a runner
// starts.
package supervise
