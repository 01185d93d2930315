// Package source reads source files for what they refer to: the imports of Go, TypeScript, JavaScript and Python files,
// the paths that a text names, and the code fences in it.
//
// The lexers of scripts and Python look for imports and nothing else, because the code may be a fragment, broken, or
// cut off, and a parser would drop the imports of types. All results are paths relative to a working directory, in their
// shortest form, and none leaves it, whatever the text says; a fuzz test keeps that. The package reads no disk and
// knows no verification.
package source
