package printable_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"parley.internal/services/hub/internal/printable"
)

func TestALineHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain text, ünïcödé, 漢字 🙂": "plain text, ünïcödé, 漢字 🙂",
		"":                          "",
		"two  spaces":               "two  spaces",
		"\x1b[31mred\x1b[0m":        "�[31mred�[0m",
		"\x1b]0;title\a":            "�]0;title�",
		"\u009b31m":                 "�31m",
		"a\bb\x7fc\x00":             "a�b�c�",
		"one\ntwo":                  "one two",
		"one\r\n\r\n\ttwo":          "one two",
		"one \n two":                "one  two",
		"over\rwrite":               "over write",
		"next\u0085line":            "next line",
		"sep\u2028ar\u2029ate":      "sep ar ate",
		"no\u00a0break":             "no break",
		"\u202egnp.exe":             "�gnp.exe",
		"zero\u200bwidth\ufeff":     "zero�width�",
		"bad \xff\xc3 bytes":        "bad �� bytes",
		"private \ue000":            "private �",
		"\U000e0041tag":             "�tag",
	} {
		if got := printable.Line(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestAttackEscapeSequencesReachNoTerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"two\nlines":            "two\nlines",
		"ünïcödé, 漢字 🙂":         "ünïcödé, 漢字 🙂",
		"\x1b[2Jgone":           `\u001b[2Jgone`,
		"\x1b]0;title\x07":      `\u001b]0;title\u0007`,
		"\u009b31m":             `\u009b31m`,
		"over\rwrite\tit":       `over\u000dwrite\u0009it`,
		"a\x7fb\x00":            `a\u007fb\u0000`,
		"\u202egnp.exe\u2066":   `\u202egnp.exe\u2066`,
		"zero\u200bwidth\ufeff": `zero\u200bwidth\ufeff`,
		"next\u0085sep\u2028":   `next\u0085sep\u2028`,
		"\U000e0041tag":         `\udb40\udc41tag`,
		"bad \x9b2J\xff bytes":  "bad �2J� bytes",
	} {
		if got := printable.Escape(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		var out bytes.Buffer
		if n, err := fmt.Fprint(printable.Writer{To: &out}, in); err != nil || n != len(in) || out.String() != want {
			t.Errorf("%q: wrote %d bytes %q, %v; want %q", in, n, &out, err, want)
		}
	}
}

func TestAttackEscapeSequencesInNamesOfJSONFieldsAreEscaped(t *testing.T) {
	t.Parallel()
	got, err := printable.JSON(json.RawMessage("{ \"a\u202e\u009b2J\": {\"\x7f\": [\"\U000e0041\"]} }"))
	if want := `{"a\u202e\u009b2J":{"\u007f":["\udb40\udc41"]}}`; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if got, err := printable.JSON(json.RawMessage("{\"a\x1b\":1}")); err == nil {
		t.Errorf("%q is no JSON", got)
	}
}

func TestAFailedWriteIsReported(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	if n, err := (printable.Writer{To: broken{full}}).Write([]byte("a\x1b")); n != 0 || !errors.Is(err, full) {
		t.Errorf("got %d, %v", n, err)
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 1, b.err }

// isPrintable reports whether a text is one line of printable characters.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func FuzzEveryTextBecomesPrintable(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "\u009b", "a\r\n\tb", "\xff\xfe", "\u202e", "漢 字\u3000",
		"\x00\x7f\u0085\u2028", "🏳️‍🌈"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := printable.Line(s)
		if !isPrintable(got) {
			t.Errorf("%q: got %q, which is not all printable", s, got)
		}
		if again := printable.Line(got); again != got {
			t.Errorf("%q: got %q, and %q of that", s, got, again)
		}
		if isPrintable(s) && (got != s || printable.Escape(s) != s) {
			t.Errorf("%q: got %q and %q, want it as it is", s, got, printable.Escape(s))
		}
		if e := printable.Escape(s); !isPrintable(strings.ReplaceAll(e, "\n", "")) ||
			strings.Count(e, "\n") != strings.Count(s, "\n") {
			t.Errorf("%q: escaped as %q", s, e)
		}
		text, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		line, err := printable.JSON(text)
		var was, is any
		if err != nil || !isPrintable(line) || json.Unmarshal(text, &was) != nil ||
			json.Unmarshal([]byte(line), &is) != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("%s: got %q, %v; want the same value", text, line, err)
		}
	})
}
