// Package typescript calls tools with the official TypeScript SDKs for MCP: with that of the 1.x line, which speaks the
// version 2025-11-25, and that of the 2.x line, which speaks 2026-07-28.
//
// An agent is a Node process of its own, which runs e2e/caller.mjs and ends with this process. It gives up a call as the
// SDK does after its timeout: the one sends notifications/cancelled and leaves its request open, the other closes the
// request. An answer holds what came over the network beside what the SDK made of it.
//
// Nothing that ships may import this package.
package typescript
