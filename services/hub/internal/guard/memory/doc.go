// Package memory keeps a guard's knowledge of a repository without the server: the place of the server, and the project's
// settings as the server told them last. It is a file in the repository's common directory, where git commits nothing, and
// holds no key.
//
// The hooks of clients read it too, and start for every tool call, so the package imports the standard library alone.
package memory
