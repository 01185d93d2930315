// Package workspace reads text files for agents below one directory that an operator has allowed, and no others.
//
// The limit is enforced by the operating system and not by the form of a path. Files are opened through an os.Root,
// which follows no link out of its directory, even while the tree changes. Paths are checked before that, so that a
// refusal has a reason. The package writes no files and runs no programs.
package workspace
