// Package archive builds the archive that the functions are deployed from: this module with its dependencies, without
// tests and without packages for development. The same sources produce the same bytes on every machine and at any time,
// so that a deployment changes only when the sources do.
//
// The contents are determined by the go command: the packages that the root package and cmd/local depend on, and the
// vendored packages that those depend on. There is no list to maintain. The replacement of the module shared stays in
// go.mod although its directory is not in the archive, because a vendored build does not read that directory.
//
// Nothing that is deployed may import this package.
package archive
