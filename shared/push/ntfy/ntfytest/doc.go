// Package ntfytest imitates an ntfy server for tests: topics that are published to as JSON or as text, and followed from a
// message on.
package ntfytest
