// Package identity says who calls: the user whose data it is, the program that
// speaks, and what the key may do.
//
// A [Caller] is made by the room that checks keys and handed down as a
// parameter; it is never hidden in a context, so a missing tenant is a compile
// error. The package holds the pure rules about callers and imports only fault.
package identity
