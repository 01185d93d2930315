// Package snapshot tells which files of a worktree a command has changed: it looks at the worktree before the command, or as
// soon as can be after its beginning, and again after it.
//
// A snapshot costs two short runs of git and a look at each file that differs from the last commit. Git runs no program that
// the configuration of the repository names, fetches nothing and writes nothing. Files that git ignores and those of submodules
// are not seen. A worktree with too many files that differ has no snapshot.
//
// What several processes change at the same time is not told apart here.
package snapshot
