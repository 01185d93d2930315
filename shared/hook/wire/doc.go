// Package wire is the contract between the hooks of clients and the hub: the inputs and outputs of hook_event and wait_hook.
//
// It imports the standard library alone, because the small program that clients start at every event imports it. The
// tags bound the inputs as those of all operations; package hook keeps the promises of the types.
package wire
