// Package artifacts makes the directory of a release: the archives, the packages of Linux distributions, npm and
// Homebrew, the images, a bill of materials beside each archive, and the checksums of all. The same sources give the
// same bytes.
package artifacts
