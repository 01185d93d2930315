package files

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"parley.internal/shared/fault"
)

// A board's document holds each reservation as a line of text. Every call reads the whole board, and 500 lines are read in
// a fraction of the time that 500 maps take, and take a third of their room.

// A line has lineFields fields with a separator between them, a character that stores need not escape. The pattern is the
// last one and may contain it.
const (
	lineFields    = 13
	separator     = "␟"
	separatorRune = '␟'
	// onBranch separates the branch from the worktree in one field, so that lines from before branches were kept are read.
	onBranch     = "␞"
	onBranchRune = '␞'
)

// oneLine returns a text with spaces in place of control characters and separators.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == separatorRune || r == onBranchRune {
			return ' '
		}
		return r
	}, text)
}

// line returns the reservation as a line.
func (r *Reservation) line() string {
	mode, human := "x", ""
	if r.Mode == Shared {
		mode = "s"
	}
	if r.Human {
		human = "h"
	}
	worktree := oneLine(r.Worktree)
	if r.Branch != "" {
		worktree += onBranch + oneLine(r.Branch)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return strings.Join([]string{number(r.Token), mode, number(int64(r.Lease)), number(r.Since.UnixMicro()),
		number(r.Until.UnixMicro()), oneLine(r.Program), oneLine(r.KeyID), human, oneLine(r.Session), oneLine(r.TaskID),
		worktree, oneLine(r.Reason), r.Pattern}, separator)
}

// readLine returns the reservation of a line.
func readLine(line string) (Reservation, error) {
	f := strings.SplitN(line, separator, lineFields)
	if len(f) < lineFields {
		return Reservation{}, fault.New(fault.Internal, "a reservation has %d fields", len(f))
	}
	var numbers [4]int64
	for i, text := range []string{f[0], f[2], f[3], f[4]} {
		var err error
		if numbers[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return Reservation{}, fault.Wrap(fault.Internal, err, "a reservation")
		}
	}
	worktree, branch, _ := strings.Cut(f[10], onBranch)
	r := Reservation{Token: numbers[0], Mode: Exclusive, Lease: int(numbers[1]), Since: time.UnixMicro(numbers[2]).UTC(),
		Until: time.UnixMicro(numbers[3]).UTC(), TaskID: f[9], Worktree: worktree, Branch: branch, Reason: f[11], Pattern: f[12],
		Holder: Holder{Program: f[5], KeyID: f[6], Human: f[7] != "", Session: f[8]}}
	if f[1] == "s" {
		r.Mode = Shared
	}
	return r, nil
}

// pack writes the lines of the reservations.
func (b *Board) pack() {
	b.Lines = make([]string, len(b.Reservations))
	for i := range b.Reservations {
		b.Lines[i] = b.Reservations[i].line()
	}
}

// unpack reads the reservations from the lines.
func (b *Board) unpack() error {
	b.Reservations = make([]Reservation, len(b.Lines))
	for i, line := range b.Lines {
		var err error
		if b.Reservations[i], err = readLine(line); err != nil {
			return err
		}
	}
	return nil
}
