// Package executabletest writes programs for tests that run them. It is for tests only.
package executabletest
