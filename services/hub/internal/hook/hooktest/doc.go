// Package hooktest is a server for tests of the hooks' processes: it keeps inboxes with receipts, pauses and waits as the contract
// in package wire says, and can be slow, unreachable or mad. It is for tests only.
package hooktest
