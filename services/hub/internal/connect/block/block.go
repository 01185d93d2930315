// Package block keeps lines of Parley at the end of a text that belongs to others, between two marks, and takes them out
// again byte for byte.
//
// The first mark has the number of the lines that follow and their hash, because programs that rewrite a file may put
// lines of their own before the second mark. Only lines that are still as they were written are removed.
package block

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Style is how a text has comments.
type Style struct{ before, after string }

// The styles of the texts.
var (
	Hash     = Style{"# ", ""}
	Markdown = Style{"<!-- ", " -->"}
)

// ErrChanged means that somebody changed the lines between the marks.
var ErrChanged = errors.New("the lines of Parley were changed by hand; remove them by hand, with both marks")

func (s Style) begin(id string, lines []string) string {
	return fmt.Sprintf("%s>>> parley %s (%d lines, %s): added by `parley connect`, removed by `parley connect --remove` >>>%s",
		s.before, id, len(lines), sum(lines), s.after)
}

func (s Style) opens(id string) string { return s.before + ">>> parley " + id + " (" }

func (s Style) end(id string) string { return s.before + "<<< parley " + id + " <<<" + s.after }

func sum(lines []string) string {
	hash := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(hash[:4])
}

// Add returns a text with lines at its end, which must not be there.
func (s Style) Add(text []byte, id, body string) []byte {
	nl := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		nl = "\r\n"
	}
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	piece := strings.Join(slices.Concat([]string{s.begin(id, lines)}, lines, []string{s.end(id)}), nl)
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		return slices.Concat(text, []byte(nl+piece))
	}
	return slices.Concat(text, []byte(piece+nl))
}

// part is a line with its place in a text.
type part struct {
	text       string
	start, end int
}

func split(text []byte) (parts []part) {
	at := 0
	for l := range bytes.Lines(text) {
		parts = append(parts, part{strings.TrimRight(string(l), "\r\n"), at, at + len(l)})
		at += len(l)
	}
	return parts
}

// Find returns the lines of an id, and whether there are any.
func (s Style) Find(text []byte, id string) (body string, found bool, err error) {
	_, first, last, _, err := s.find(text, id)
	if err != nil || first < 0 {
		return "", false, err
	}
	var lines []string
	for _, p := range split(text)[first+1 : last] {
		lines = append(lines, p.text)
	}
	return strings.Join(lines, "\n") + "\n", true, nil
}

// find returns the indexes of the first mark, of the line after the body, and of the second mark.
func (s Style) find(text []byte, id string) (parts []part, first, last, mark int, err error) {
	parts = split(text)
	opens := func(p part) bool { return strings.HasPrefix(p.text, s.opens(id)) }
	closes := func(p part) bool { return strings.HasPrefix(p.text, s.end(id)) } // others may have added to a last line without an end
	first, mark = slices.IndexFunc(parts, opens), slices.IndexFunc(parts, closes)
	if first < 0 && mark < 0 {
		return parts, -1, -1, -1, nil
	}
	if first < 0 || mark < first || slices.ContainsFunc(parts[first+1:], opens) || slices.ContainsFunc(parts[mark+1:], closes) {
		return nil, 0, 0, 0, ErrChanged
	}
	count, _, _ := strings.Cut(strings.TrimPrefix(parts[first].text, s.opens(id)), " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > mark-first-1 {
		return nil, 0, 0, 0, ErrChanged
	}
	last = first + 1 + n
	var lines []string
	for _, p := range parts[first+1 : last] {
		lines = append(lines, p.text)
	}
	if parts[first].text != s.begin(id, lines) {
		return nil, 0, 0, 0, ErrChanged
	}
	return parts, first, last, mark, nil
}

// Remove returns a text without the lines of an id.
func (s Style) Remove(text []byte, id string) ([]byte, error) {
	parts, first, last, mark, err := s.find(text, id)
	if err != nil || first < 0 {
		return text, err
	}
	start, end := parts[first].start, parts[mark].end
	if parts[mark].text != s.end(id) {
		end = parts[mark].start + len(s.end(id))
	}
	between := text[parts[last-1].end:parts[mark].start]
	if len(between) == 0 && mark == len(parts)-1 && !bytes.HasSuffix(text, []byte("\n")) && start > 0 {
		// The text had no line end before the lines came.
		nl := "\n"
		if bytes.HasSuffix(text[:parts[first].end], []byte("\r\n")) {
			nl = "\r\n"
		}
		start = len(bytes.TrimSuffix(text[:start], []byte(nl)))
	}
	return slices.Concat(text[:start], between, text[end:]), nil
}
