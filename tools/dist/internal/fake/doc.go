// Package fake has a source of artifacts that builds nothing, for tests of the packages that are made from its files.
package fake
