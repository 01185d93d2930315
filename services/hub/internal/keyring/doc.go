// Package keyring keeps keys, the person's own and those of connected clients, in the keyring of their account: the Secret
// Service on Linux, the Keychain on macOS, the Credential Manager on Windows.
//
// A keyring may be missing, locked behind a prompt, or hang. So each call ends within a bounded time, and the caller
// has another place for the key. A keyring is no wall between the processes of an account: while it is unlocked, each
// of them can ask for the key. It keeps the key out of files and backups, and out of the sight of an agent that reads
// files by chance.
package keyring
