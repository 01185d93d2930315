// Package jsonscan reads the structure of a JSON text without building its values: where the members of lists and the
// fields of objects are, how many values there are, and how deep they nest. Every function takes time in proportion to
// the text that it reads and allocates nothing in proportion to it, so that a text can be measured before anything is
// made of it.
//
// Except for [Check], the functions need a text that Check has accepted.
package jsonscan
