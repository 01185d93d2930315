// Package npm makes the packages for npm: one of each platform with its programs, and a small one that starts those of
// the platform that it is on. The latter names the others as optional dependencies, of which npm installs the one whose
// os and cpu are those of the machine. No package runs a script when it is installed.
package npm
