// Package rules holds firestore.rules, the file at the root of the repository, to what
// it promises: what a person's app may read and write in the database without the hub.
//
// It is tests alone. They speak to the emulator as real users do, with the tokens and
// the client of an app, because rules cannot be judged by reading them: each condition
// is broken by itself, and the emulator's own report says whether any was never seen
// true or never seen false. What an app wrote is then read by the real domains.
//
// Nothing may import this package, and it may hold no rule of its own: what is an
// answer, a device or a setting is decided in the domains, and rules follow them.
package rules
