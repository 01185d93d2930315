// Package workspace reads text files for agents under one directory that an operator
// allowed, and nothing outside of it.
//
// The check stands on the operating system, not on the look of a path: files are opened
// through an os.Root, which follows no link out of its directory, also where the
// tree changes meanwhile. Paths are checked before that, so that a refusal can say why.
// The package may not write, and runs nothing.
package workspace
