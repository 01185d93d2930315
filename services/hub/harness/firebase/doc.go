// Package firebase runs the official Firebase Auth emulator, and holds the tests of people's sign-ins against it: the
// tokens that real sign-ups and sign-ins give, verified and unverified addresses, custom claims, revocation, and the
// server as it ships.
//
// The emulator is that of the npm package firebase-tools, in the version of package-lock.json. It needs Node alone. The
// packages are installed without their scripts: no program of theirs runs at the installation, and none needs to be
// compiled. The package is part of make proof, not of make test: a start takes from ten seconds to a minute, and an
// installation minutes. The browser's tests of the page use it too.
//
// The emulator's tokens have no signature. Forged signatures are tested in the hub's own package of this name.
package firebase
