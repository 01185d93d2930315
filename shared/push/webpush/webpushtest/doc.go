// Package webpushtest imitates the push service of a browser, and the browser behind it, for tests: it makes
// subscriptions, checks the tokens of senders, and decrypts the messages that it receives.
package webpushtest
