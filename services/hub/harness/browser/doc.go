// Package browser holds the tests, in Chromium, of the page on which a person answers questions. Package page tests
// the properties of the page that need no browser.
//
// The package is part of make proof, not of make test: it needs Debian's package chromium, or the program that
// PARLEY_CHROMIUM names. Without one the tests are skipped, unless REQUIRE_EMULATOR is 1, which makes them fail.
package browser
