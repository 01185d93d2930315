// Package programs builds the parts of artifacts by the go command: the programs of a platform with their bill of
// materials, the manual, and the completions. The same sources and the same version of Go give the same bytes.
package programs
