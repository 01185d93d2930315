// Package licenses writes the licenses and notices of the modules that are linked into a program, which their authors
// require of whoever hands the program on.
package licenses
