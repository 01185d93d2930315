// Package licenses writes the licenses and notices of the modules that are linked into a program, which their authors
// require beside each copy of the program.
package licenses
