// Package glob decides whether two patterns of paths have a path in common.
//
// A pattern is a path of segments between slashes. In a segment, * matches any characters, ? matches one, and [a-z],
// [!a-z] match one of a class; none of them matches a slash. A segment ** matches any number of segments, also none.
// {a,b} stands for either text and may contain slashes and braces. A pattern that ends in a slash matches all below that
// directory, and "." matches everything. A character in brackets, as in [*], is itself; [Quote] writes a path so. A
// backslash is a slash, because programs on Windows write it so.
//
// The decision is exact: a pattern is a finite automaton over the characters of a path, and two patterns overlap if
// their product accepts some text. The product of two patterns has as many states as the product of their lengths. Both
// lengths are bounded, and so is the number of states that a caller lets a decision visit, by [Steps]. The package
// compares texts only: it reads no files, and it takes the canonically equivalent spellings of a name for one.
package glob
