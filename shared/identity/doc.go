// Package identity describes the caller of an operation: the user that owns the data, the program that the key speaks
// for, and the permissions of the key.
//
// The package that checks keys creates a [Caller] and passes it on as a parameter. It is never stored in a context, so
// that a missing user is a compile error. The package holds pure rules about callers; of Parley it may import fault
// alone.
package identity
