// Package optest runs the cases of operations for suites: it makes the calls that come before
// an example, keeps what they save, and fills it into the inputs that follow.
//
// A suite decides how a call is made, over a transport or in process, through [Caller]; which
// operations there are and how they are called is said by their specs alone. Tests alone may
// import it.
package optest
