// Package cli holds the commands of the parley binary. A command reads its configuration, opens the store, connects the
// packages of the hub to each other and runs them.
//
// The package holds no rules of any domain: each command calls an operation or another package. Commands take their
// environment and streams as arguments of [Run], so that tests run them in their own process.
package cli
