// Package page holds the tests of the page on which a person answers questions that need no browser: headers, caching,
// size, and the redemption of a link. Package browser tests its behaviour in Chromium.
package page
