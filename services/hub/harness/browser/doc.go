// Package browser holds the tests of the page on which a person answers questions, in Chromium.
//
// It is part of make proof, not of make test: it needs Debian's package chromium, or the program that PARLEY_CHROMIUM
// names. Without one the tests are skipped, and fail where everything is required.
package browser
