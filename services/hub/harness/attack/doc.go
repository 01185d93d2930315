// Package attack attacks a hub as one agent of a user attacks another: with a bound key of its own, or with one that is
// bound to no program. Each attack is a list of requests with the answers that the owner's rights demand, sent over REST
// and over MCP, on both stores.
//
// It is tests only. The rights of every operation are in its cases, which package catalogue runs; here are the attacks
// that take several steps. The rules are in docs/security.md.
package attack
