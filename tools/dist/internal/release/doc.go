// Package release describes a release: the version with its time, the platforms, and the files that belong to one of
// them. All other packages of the module take it and add nothing that differs between two runs.
package release
