// Package jsonedit adds entries to JSON settings that belong to others, and takes them out again, and leaves every other
// byte as it is: comments, trailing commas, order, indentation, line ends and a byte order mark.
//
// It reads JSON with comments and trailing commas, as the clients of agents do, and writes no comment and no trailing comma
// of its own. Each function returns a new text. An addition is described by its [Insertion] pieces, with which [Undo]
// restores the text before it byte for byte; a text that was changed since is edited by its structure instead.
package jsonedit
