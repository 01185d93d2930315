// Package launch starts processes in a way that the runner knows every one of them, identifies them by PID and start
// time, and ends them with all their children.
//
// A process starts as a program of the runner itself: it becomes the leader of a session and a process group, waits on
// a pipe for its [Job], and then replaces itself with the job's command under the same PID. In between the runner
// records the PID. If the runner dies before, the pipe is closed and the command never runs. The program checks the
// working directory after it has entered it, so that no one can exchange the directory in between.
//
// The starter and the waiting program hold keys, so [Protect] hides their memory from other processes of the user.
//
// The package knows processes only: no server, no journal and no template may be used here.
package launch
