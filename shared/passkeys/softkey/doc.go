// Package softkey is an authenticator in software: it makes passkeys and uses them, with no person asked. It is for the
// examples of operations and for tests, and no program that ships has it.
package softkey
