// Package agents tests Parley with the real clients of agents, Claude Code and Codex, and a model that is a program of the
// test.
//
// The clients come from npm: from node_modules here, or from the directory that PARLEY_CLIENTS names. Tests whose client is
// missing are skipped, unless REQUIRE_EMULATOR is 1, which makes them fail.
package agents
