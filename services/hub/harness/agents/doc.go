// Package agents installs the real clients of agents, Claude Code and Codex, for tests, and holds the tests of Parley with
// them: members that a runner starts, and queues that an agent serves. The clients come from npm at the versions of
// package.json and call the models of package fakemodel, so a test needs no account and no network.
package agents
