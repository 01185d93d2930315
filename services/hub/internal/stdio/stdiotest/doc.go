// Package stdiotest provides the two ends of a bridge for tests: a client on its pipe and a server at its URL.
//
// It is for tests only; no package that ships may import it.
package stdiotest
