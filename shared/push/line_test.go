package push_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley.internal/shared/push"
)

func TestLineKeepsVisibleTextOnOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		"Ship it?":               "Ship it?",
		"  a\r\n\tb\u2028c  d ":  "a b c d",
		"bell\a and\x00 nothing": "bell and nothing",
		"user\u202egnp.exe":      "usergnp.exe",
		strings.Repeat("é", 22):  strings.Repeat("é", 22),
		strings.Repeat("é", 23):  strings.Repeat("é", 21) + "…",
	} {
		if got := push.Line(text, 22); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\nb\u202ec", 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 1000 {
			return
		}
		got := push.Line(text, limit)
		if utf8.RuneCountInString(got) > limit || strings.ContainsAny(got, "\n\r\t\u202e\u2066") ||
			!utf8.ValidString(got) || strings.TrimSpace(got) != got && !strings.HasSuffix(got, "…") {
			t.Errorf("%q in %d is %q", text, limit, got)
		}
	})
}
