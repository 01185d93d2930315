// Package homebrew writes the formula by which Homebrew installs the archives of a release.
package homebrew
