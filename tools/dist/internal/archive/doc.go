// Package archive writes archives whose bytes depend on their files and one time alone: files in the order of their
// names, all of the user 0 and of the same time.
package archive
