// Package fake has a source of artifacts that builds nothing, for tests of what is made from its files.
package fake
