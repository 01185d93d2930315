// Package checkout describes a directory in the terms of file reservations: the repository's project, its worktree,
// paths relative to its root, and the files that a commit or a push would change.
//
// It asks git about the directory alone, whatever variables of git the environment has; but a hook of git finds in them
// the index and the worktree that it is called for ([InHook]). It changes nothing, and it calls no server. Every
// checkout of a repository has the same project, on every machine where `origin` has the same address; the worktrees of
// one clone differ by name.
package checkout
