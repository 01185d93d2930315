// Package workspace reads text files for agents below one directory that an operator has allowed, and no others.
//
// The limit is enforced by the operating system and not by the form of a path. Files are opened through an os.Root,
// which follows no link out of its directory, even while the tree changes. Paths are checked before that, so that a
// refusal has a reason.
//
// Below the directory too, some files are never read: those with a name that secrets usually have, such as .env,
// those that a .gitignore names, and binaries. The agent and its server choose the paths, and neither may choose a
// key. The names are those of the file itself, after all symbolic links, and of each directory above it, so that no
// other path leads to it. The list stands here once, for the server and for the bridge of clients without one.
//
// The package writes no files and runs no programs.
package workspace
