// Package entry is what stands behind the functions' names: a call of the Functions Framework becomes one of a reaction
// or of a sweep, and what they say becomes an answer.
//
// An answer is an instruction. Whoever delivered an event delivers it again after anything but 2xx, so only what a
// redelivery can mend is answered with an error; what cannot be read, is too old or is refused is dropped, with a line
// in the log.
//
// The store and the sender are opened at the first call, not when the program starts: a failure then answers that call
// alone, and the next one tries again. No rule of the domains is here.
package entry
