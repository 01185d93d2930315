// Package releases tells whether a release newer than this program exists, and how the program is updated where it is
// installed. It changes nothing.
//
// It asks one address, and only when it is called: that of a releases document, which "make dist" writes as latest.json.
// The request names neither the version nor the machine that asks. How the program was installed is told by its path and
// by the files that packages leave, so that no package manager is run.
package releases
