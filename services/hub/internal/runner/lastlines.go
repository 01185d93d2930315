package runner

import (
	"io"
	"os"
	"strings"

	"parley.internal/services/hub/internal/printable"
)

const (
	// maxTail is the number of bytes of a log that are looked at for the last lines.
	maxTail = 8 << 10
	// maxLines and maxWords bound the last lines that are reported, in lines and characters.
	maxLines, maxWords = 10, 1200
)

// withLastLines appends the last lines that a process wrote to its log, from a position on, to the reason of its end.
// Keys in them are left out.
func withLastLines(reason, file string, from int64) string {
	lines := lastLines(file, from)
	switch {
	case lines == "":
		return reason
	case reason != "":
		reason += "; "
	}
	return reason + "its last lines:\n" + lines
}

func lastLines(file string, from int64) string {
	log, err := os.Open(file)
	if err != nil {
		return "" // the log is optional in a report
	}
	defer log.Close()
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil || end <= from {
		return ""
	}
	text := make([]byte, min(end-from, maxTail))
	n, _ := log.ReadAt(text, end-int64(len(text))) // the readable part is reported
	said := parleyKey.ReplaceAllString(string(text[:n]), "…")
	all := strings.Split(strings.TrimSpace(printable.Escape(strings.ReplaceAll(said, "\r\n", "\n"))), "\n")
	last := []rune(strings.Join(all[max(0, len(all)-maxLines):], "\n"))
	if len(last) > maxWords {
		last = append([]rune("…"), last[len(last)-maxWords+1:]...)
	}
	return string(last)
}
