// Package launcher knows how the clients of agents are started for a piece of work: Claude Code and Codex, headless or
// in a terminal, with a prompt, a connection to Parley of their own and no permission that nobody asked for. It also
// reads the outcome of a headless client from its output: its last words, its session and its usage.
//
// A client gets its prompt on standard input or, in a terminal, as an argument. Its key is in one variable of its
// environment, to which its configuration refers; no file and no argument holds the key. The package writes its files
// into one private directory for each start, which the caller makes and removes.
//
// The tools of Parley are allowed, because a client that serves Parley works through them. Anything else is as the
// client has it by default, unless the person who starts it passes the client's own options.
//
// The package starts no process and calls no server.
package launcher
