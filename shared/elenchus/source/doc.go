// Package source finds references to files in texts: the imports of Go, TypeScript, JavaScript and Python files, the
// paths that a text names, and the code fences in it.
//
// The lexers of scripts and Python recognize imports only. The code may be a fragment, broken or cut off, so that a
// parser would fail, and the parser of a bundler would drop the imports of types. All results are paths relative to a
// working directory, in their shortest form, and none leaves it for any text; a fuzz test checks this. The package
// reads no disk and does not depend on verifications.
package source
