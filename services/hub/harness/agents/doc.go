// Package agents installs the real clients of agents, Claude Code and Codex, for tests, and holds the tests of Parley with
// them: the settings that connect writes, hooks, members that a runner starts, and queues that an agent serves. The models
// that the clients call are of package fakemodel, so a test needs no account and no network.
//
// The clients come from npm at the versions of package.json: from node_modules here, or from the directory that
// PARLEY_CLIENTS names. Tests whose client is missing are skipped, unless REQUIRE_EMULATOR is 1, which makes them fail.
package agents
