package cli_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"parley.internal/services/hub/internal/cli"
	"parley.internal/services/hub/internal/printable"
)

// isPrintable reports whether a text is one line of printable characters.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func TestShortIDsTellIDsApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0198c0de-0001-", 100_000) // which one comparison after another of its beginnings takes hours
	for name, c := range map[string]struct{ ids, want []string }{
		"none":            {nil, nil},
		"short ones":      {[]string{"b", "a"}, []string{"b", "a"}},
		"one":             {[]string{"0198c0de-0001-7000"}, []string{"0198c0de-0001"}},
		"apart early":     {[]string{"0198c0de-0001-7000", "0198c0de-0002-7000"}, []string{"0198c0de-0001", "0198c0de-0002"}},
		"apart late":      {[]string{"0198c0de-0001-7000", "0198c0de-0001-7100"}, []string{"0198c0de-0001-70", "0198c0de-0001-71"}},
		"a beginning":     {[]string{"0198c0de-0001-7", "0198c0de-0001-"}, []string{"0198c0de-0001-7", "0198c0de-0001-"}},
		"wide characters": {[]string{"0198c0de-0001é", "0198c0de-0001è", "0198c0de-000漢字"}, []string{"0198c0de-0001é", "0198c0de-0001è", "0198c0de-000漢"}},
		"equal":           {[]string{long, long}, []string{long[:13], long[:13]}},
		"long":            {[]string{long + "a", long + "b", "x"}, []string{long + "a", long + "b", "x"}},
		"not printable":   {[]string{"0198c0de-0001\n1", "0198c0de-0001\x002"}, []string{"0198c0de-0001 1", "0198c0de-0001\ufffd"}},
	} {
		if got := cli.ShortIDs(c.ids...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %.300q, want %.300q", name, got, c.want)
		}
	}
}

func FuzzCutAndWrap(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "a\r\n\tb", "漢 字\u3000", "🏳️‍🌈"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := printable.Line(s)
		for width := range 6 {
			if c := cli.Cut(line, width); width > 0 && uniseg.StringWidth(c) > width {
				t.Errorf("%q cut to %d: got %q", line, width, c)
			}
			if lines := cli.Wrap(line, width, 0); strings.Join(lines, "") != line {
				t.Errorf("%q wrapped at %d: got %q", line, width, lines)
			}
		}
	})
}

func TestATextIsCutToItsWidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"漢字", 4, "漢字"}, {"漢字", 3, "漢…"}, {"漢字", 2, "…"}, {"漢", 1, "…"},
		{"abc", 0, "abc"}, {"", 1, ""}, {"🙂🙂", 3, "🙂…"},
		{"ne\u0301e", 3, "ne\u0301e"}, {"ne\u0301e", 2, "n…"}, {"e\u0301e\u0301", 1, "…"}, {"👍🏽👍🏽", 4, "👍🏽👍🏽"},
		{"👍🏽👍🏽", 3, "👍🏽…"},
		{"🇩🇪🇫🇷", 3, "🇩🇪…"}, {"한글", 3, "한…"}} {
		if got := cli.Cut(c.text, c.width); got != c.want {
			t.Errorf("%q to %d: got %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestATextIsWrappedBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text          string
		width, indent int
		want          []string
	}{
		{"abcdef", 4, 0, []string{"abcd", "ef"}},
		{"abcdef", 4, 2, []string{"ab", "cd", "ef"}},
		{"漢字かな", 5, 0, []string{"漢字", "かな"}},
		{"漢字", 1, 0, []string{"漢", "字"}},
		{"e\u0301e\u0301e\u0301", 2, 0, []string{"e\u0301e\u0301", "e\u0301"}},
		{"👍🏽👍🏽", 2, 0, []string{"👍🏽", "👍🏽"}},
		{"abc", 0, 0, []string{"abc"}},
		{"", 3, 0, []string{""}},
	} {
		if got := cli.Wrap(c.text, c.width, c.indent); !slices.Equal(got, c.want) {
			t.Errorf("%q at %d less %d: got %q, want %q", c.text, c.width, c.indent, got, c.want)
		}
	}
}

func TestColumnsAlignInAnyScript(t *testing.T) {
	t.Parallel()
	cells := [][]string{{"plain", "x"}, {"漢字", "x"}, {"ｶﾅ", "x"}, {"한글", "x"}, {"한", "x"}, {"🙂", "x"}, {"👍🏽", "x"},
		{"❤\ufe0f", "x"},
		{"☺", "x"}, {"🇩🇪", "x"}, {"cafe\u0301", "x"}, {"नमस्ते", "x"}, {"→…", "x"}}
	want := []string{
		"  plain  x",
		"  漢字   x",
		"  ｶﾅ     x",
		"  한글   x",
		"  한     x",
		"  🙂     x",
		"  👍🏽     x",
		"  ❤\ufe0f     x",
		"  ☺      x",
		"  🇩🇪     x",
		"  cafe\u0301   x",
		"  नमस्ते   x",
		"  →…     x",
	}
	for i, got := range cli.Table(cells) {
		if got != want[i] {
			t.Errorf("got  %q\nwant %q", got, want[i])
		}
	}
}
