// Package proxy tests the Caddyfile of deploy/compose: a real Caddy with it, on loopback and with a certificate of its own,
// before the program that ships. It needs a caddy in the PATH, in PARLEY_CADDY, or where "make setup" puts it.
package proxy
