// Package harness is the root of the module of tools and tests around the hub, and holds the tests over all modules.
//
// The module lies below services/hub so that it may import the hub's internal packages, and is a module of its own so
// that the hub's go.mod names nothing that only a test needs. The hub, the functions and the shared packages know
// nothing of it: what is here may be changed, or be missing, without a change to what ships. No rule of an operation,
// and nothing that a server needs, may be in this module.
//
//   - hubtest runs a hub in the process of a test; auth, mcp, rest and page hold the tests that need one.
//   - browser tests the page in Chromium, e2e the TypeScript SDKs, conformance the official MCP suite.
//   - chaos kills servers under load, cmd/bench measures them, costs counts what they cost in the cloud.
//   - cmd/generate writes the documents that are made from the code; program builds the hub for the others.
package harness
