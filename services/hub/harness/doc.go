// Package harness is the root of the module of tools and tests around the hub, and holds the tests over all modules.
//
// The module lies below services/hub so that it may import the hub's internal packages, and is a module of its own so
// that the hub's go.mod names nothing that only a test needs. The hub, the functions and the shared packages do
// not import it, so a change here changes nothing that ships. Code that a server needs, such as the rules of an
// operation, must not be in this module.
//
//   - hubtest runs a hub in the process of a test; auth, mcp, rest and page hold the tests that need one, and attack those
//     of attacks in several steps.
//   - catalogue runs the cases of all operations.
//   - browser tests the page in Chromium, e2e the TypeScript SDKs, conformance the official MCP suite.
//   - clients generates typed clients from the OpenAPI document, which cmd/openapi writes, and tests them.
//   - proxy tests the Caddyfile of deploy/compose with a real Caddy.
//   - agents tests the real clients of agents, Claude Code and Codex; fakemodel answers them in place of a model. hook tests
//     the programs of the hooks.
//   - firebase tests sign-ins with the Firebase Auth emulator.
//   - demo plays a scripted day of six agents.
//   - chaos kills servers under load, scale lets many agents use one, cmd/bench measures them, costs counts their costs in
//     the cloud.
//   - cmd/generate writes the files that are derived from the code; program builds the hub for the others.
//   - cmd/sbom makes the bill of materials of the binary reproducible.
package harness
