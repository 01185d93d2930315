// Package runner starts the processes of one team's members on this machine, watches them and ends them, so that no
// terminal multiplexer is needed.
//
// The server decides which processes should run, and the runner reports their states. The runner claims a process
// before it starts it, and records each claim and each start in its journal before it takes effect. The successor of a
// runner that was killed finds the processes that still run by PID and start time, and can report the outcome of the
// others. Processes keep running while the server is unreachable. The end of a process is reported until the server has
// acknowledged it, by this runner or by its successor.
//
// A started process is a client of agents, Claude Code or Codex, with the member's prompt and an MCP entry in a private
// directory that goes with the process, or a command of the operator. The last lines that a process wrote are part of
// the report of its end, without keys.
//
// Values from the server fill in arguments of a command that the operator chose, and select a directory under a root
// that the operator allowed. They never reach a shell, the program's name or, but for a key of the member's own, the
// environment. A process does not inherit the runner's environment but a list of variables, because the runner's holds
// keys. The key that the server makes for the member with the claim is in no journal and no log. Texts of the server are
// escaped before they are logged. No rule of a team may live here.
package runner
