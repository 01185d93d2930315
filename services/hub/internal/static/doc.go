// Package static serves texts that do not change while the server runs. A text is compressed once, and has an ETag, so
// that a client that has it already gets 304 and no text.
package static
