// Package supply gives the server the files that a verification wants, from a directory of this machine that the
// operator allowed.
//
// A verification collects source files, but the agent's disk is on the client's side of the bridge. So the result of a
// tool that opens a verification, or takes a round, and wants files, is held until those in the allowed directory were
// sent; then the result says so. The files that those import are sent too, up to three steps deep.
//
// The server names the wanted files, and nothing but the directory bounds it: every read goes through a
// [workspace.Root], under the verification's working directory, and the limits on number, size and time are kept here.
// A failure leaves the server's answer as it was. The package knows the tools of verifications and nothing of the
// transport, which is [parley.internal/services/hub/internal/stdio].
package supply
