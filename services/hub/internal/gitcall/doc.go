// Package gitcall calls git to ask it about a directory, and about no other: variables of the environment that name another
// repository, index or settings do not reach it. Git runs no program that the configuration of a repository names, reaches
// no server, and waits for no lock. Every call of git in the program is made here.
package gitcall
