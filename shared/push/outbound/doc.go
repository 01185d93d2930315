// Package outbound calls addresses that people gave, without lending them the server's place in its network.
//
// The IP address is checked at each connection, after the name was resolved, so that a name cannot change between a check
// and its use. Only public addresses are called over HTTPS. A server that listens on loopback alone may also be allowed
// private and loopback addresses, then over plain HTTP too. Link-local addresses, where clouds keep the credentials of
// their machines, are never called. No redirect is followed and no proxy is used, because both would evade the check.
package outbound
