package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"parley.internal/services/hub/internal/printable"
)

// shortIDs returns a unique prefix of the id of each item, all of the same length. It has at least the 13 characters that
// differ between ids made in different milliseconds. Nothing tells equal ids apart, so they do not make it longer.
func shortIDs[T any](items []T, idOf func(T) string) []string {
	const stamp = 13 // the time in a UUIDv7
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = printable.Line(idOf(item))
	}
	// Of sorted ids each has its longest common prefix with a neighbour.
	n := stamp
	sorted := slices.Sorted(slices.Values(ids))
	for i := 1; i < len(sorted); i++ {
		n = max(n, apart(sorted[i-1], sorted[i]))
	}
	for i, id := range ids {
		end := min(n, len(id))
		for end < len(id) && !utf8.RuneStart(id[end]) {
			end--
		}
		ids[i] = id[:end]
	}
	return ids
}

// apart returns the least length, in bytes, of a beginning of b that a has not. It is 0 if a and b are equal; otherwise a
// must be before b.
func apart(a, b string) int {
	for i, r := range b {
		end := i + utf8.RuneLen(r)
		if end > len(a) || a[i:end] != b[i:end] {
			return end
		}
	}
	return 0
}

// widest is the width to which the cells of a table are cut, but those of the last column.
const widest = 36

// table aligns cells in columns of the terminal, in which a wide character takes two and a combining mark none. It cuts
// every cell of a row, except the last, to 36 columns.
func table(cells [][]string) []string { return align(cells, widest) }

// align aligns cells as table does, and cuts those between the first and the last column to a bound.
func align(cells [][]string, bound int) []string {
	var widths []int
	clean := make([][]string, len(cells))
	for j, row := range cells {
		clean[j] = make([]string, len(row))
		for i := range row {
			c := strings.TrimSpace(printable.Line(row[i]))
			if i < len(row)-1 {
				if c = cut(c, bound); i == 0 {
					c = cut(strings.TrimSpace(printable.Line(row[i])), widest)
				}
				if i == len(widths) {
					widths = append(widths, 0)
				}
				widths[i] = max(widths[i], uniseg.StringWidth(c))
			}
			clean[j][i] = c
		}
	}
	rows := make([]string, len(cells))
	for j, row := range clean {
		for i, c := range row {
			rows[j] += "  " + c
			if i < len(row)-1 {
				rows[j] += strings.Repeat(" ", widths[i]-uniseg.StringWidth(c))
			}
		}
		rows[j] = strings.TrimRight(rows[j], " ")
	}
	return rows
}

// fit aligns cells in a width: where the last column would get less than a third of it, the middle ones are cut, and
// cells that still do not fit are cut at the end of the line. The first column, which has the ids, stays whole for as
// long as it fits. Width 0 is no limit.
func fit(cells [][]string, width int) []string {
	const least = 6
	rows := align(cells, widest)
	for bound := widest - 1; width > 0 && bound >= least && begin(cells, bound) > width*2/3; bound-- {
		rows = align(cells, bound)
	}
	for i := range rows {
		rows[i] = cut(strings.TrimPrefix(rows[i], "  "), width)
	}
	return rows
}

// begin returns the column at which the last cells begin.
func begin(cells [][]string, bound int) int {
	without := make([][]string, len(cells))
	for i, row := range cells {
		without[i] = append(append([]string{}, row[:len(row)-1]...), "x")
	}
	n := 0
	for _, row := range align(without, bound+1) {
		n = max(n, uniseg.StringWidth(row))
	}
	return n
}

// tone is the colour of a row.
type tone string

// The tones, as parameters of the escape sequence that sets the colour.
const (
	plain tone = ""
	bold  tone = "1"
	faint tone = "2"
	bad   tone = "31"
	good  tone = "32"
	alarm tone = "33"
)

// coloured reports whether the output may have colours: on a terminal, unless NO_COLOR is set.
func (w *world) coloured() bool {
	return isTerminal(w.out) && w.env("NO_COLOR") == "" && w.env("TERM") != "dumb"
}

// paint colours a text where the output may have colours.
func (w *world) paint(t tone, text string) string {
	if t == plain || text == "" || !w.coloured() {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// sheet is a table with a head.
type sheet struct {
	cells [][]string
	tones []tone
}

// newSheet returns a table with a head and no rows.
func newSheet(head ...string) *sheet { return &sheet{[][]string{head}, []tone{bold}} }

func (s *sheet) add(t tone, cells ...string) {
	s.cells, s.tones = append(s.cells, cells), append(s.tones, t)
}

// print writes the table in the width of the terminal, or the text where it has no rows.
func (w *world) print(s *sheet, none string) error {
	if len(s.cells) == 1 {
		_, err := fmt.Fprintln(w.out, none)
		return err
	}
	width, _, _ := terminalSize(w.out)
	var b strings.Builder
	for i, line := range fit(s.cells, width) {
		b.WriteString(w.paint(s.tones[i], line) + "\n")
	}
	_, err := io.WriteString(w.out, b.String())
	return err
}
