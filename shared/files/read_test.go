package files

import (
	"strings"
	"testing"
)

func FuzzLine(f *testing.F) {
	r := Reservation{Token: 7, Mode: Shared, Lease: 60, Pattern: "src/**", Worktree: "w", Branch: "main", Reason: "a\nb",
		Holder: Holder{Program: "alpha", KeyID: "k", Human: true, Session: "alpha/1"}, TaskID: "t"}
	f.Add(r.line())
	f.Add(strings.Repeat(separator, lineFields-1))
	f.Add("1" + strings.Repeat(separator+"9223372036854775807", lineFields))
	f.Fuzz(func(t *testing.T, line string) {
		r, err := readLine(line)
		if err != nil {
			return
		}
		again, err := readLine(r.line())
		if err != nil || again.line() != r.line() || again.Pattern != r.Pattern || again.Token != r.Token {
			t.Errorf("%q is read as %+v, which is read as %+v, %v", line, r, again, err)
		}
	})
}

func FuzzPosition(f *testing.F) {
	for _, p := range []position{{"github.com/acme/app", 7}, {"a/b/c", -1}} {
		f.Add(p.String())
	}
	for _, text := range []string{"", "x", "LzE", "MS8"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readPosition(text)
		if err != nil || text == "" {
			return
		}
		if again, err := readPosition(p.String()); err != nil || again != p || p.project == "" {
			t.Errorf("%q is read as %+v, which is read as %+v, %v", text, p, again, err)
		}
	})
}
