// Package printable makes text from files, servers and agents safe for a terminal.
//
// Such text may hold control characters and escape sequences, which move the cursor, set the title or answer to the
// shell, and characters that reorder or hide the text beside them. A character is shown as it is only if it is
// printable by [unicode.IsPrint], which excludes them all. The callers choose the form: [Line] for a view, where a
// replacement has the width of a character, [Escape], [EscapeLine] and [Writer] for errors and logs, where it matters
// which character it was, and [JSON] for JSON, whose value stays the same.
//
// The package knows characters only. Widths and layouts may not live here.
package printable
