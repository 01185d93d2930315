// Package hook translates between the hooks of agents' clients and the server: the JSON that a client gives to a hook
// becomes a Call, and the server's answer becomes the output that the client reads.
//
// Everything here is pure: no clock, no network and no file. Text of other agents reaches a model fenced, with the
// sender that the server verified, without control characters and within caps; where there is nothing to say, nothing
// is said. A tool call is summed up by the tool's name and a path or the first word of a command, and never by
// contents.
//
// A hook starts for every tool call, so the package imports little, and none of it is slow to initialize.
package hook
