// Package archive makes the archive that the functions are deployed from: this module with everything that it needs,
// without its tests and without what only development needs. The same sources make the same bytes, wherever and
// whenever, so that a deployment changes only when they do.
//
// What goes in is asked of the go command: the packages behind the root package and cmd/local, and the vendored
// packages behind those. There is no list to keep. The replacement of the shared module stays in go.mod although its
// directory is not in the archive, because a vendored build does not look there.
//
// Nothing that is deployed may import this package.
package archive
