package glob

import (
	"errors"
	"strings"
	"testing"
)

func TestPatternsOverlapIfAPathMatchesBoth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		meet bool
	}{
		{"src/a.go", "src/a.go", true}, {"src/a.go", "src/b.go", false}, {"./src//a.go", `src\a.go`, true},
		{"src/", "src/a/b/c.go", true}, {"src/", "src", false}, {"src/", "srcs/a", false}, {"src", "src/a", false},
		{"src/**", "src", true}, {"src/**/a.go", "src/a.go", true}, {"src/**", "src/a/b", true},
		{"**", "any/thing", true}, {".", "any/thing", true}, {"./", "a", true}, {"**/*.go", "a.go", true},
		{"*.go", "a/b.go", false}, {"**/*.go", "src/", true}, {"docs/", "**/*.md", true},
		{"docs/*.md", "docs/**/x?.txt", false}, {"a*b", "ab*", true}, {"a*b", "*c", false}, {"?", "ab", false},
		{"*a*b*c*", "c*b*a", true}, {"{api,web}/", "web/x", true}, {"{api,web}/", "cli/x", false},
		{"{a,{b,c}/d}/e", "c/d/e", true}, {"a{,.test}.go", "a.go", true}, {"a{,.test}.go", "a.tests.go", false},
		{"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false}, {"[^a]", "[!b]", true}, {"[ab]", "[cd]", false},
		{"[]]", "]", true}, {"app/[[]id]/page.tsx", "app/[[]id]/*", true}, {"[*]", "x", false}, {"a**b", "axxb", true},
		{"a**b", "a/b", false}, {"[a-]", "-", true}, {"[é-ü]", "ö", true}, {"Zoe\u0308/", "Zoë/a", true},
		{"a.go", "A.go", false}, {"a]", "a]", true}, {"a,b", "a,b", true}, {"[!a]/x", "b/x", true},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := decide(t, pair[0], pair[1], false); got != c.meet {
				t.Errorf("%q and %q: %v", pair[0], pair[1], got)
			}
		}
	}
}

func TestWithoutCasePathsInAnyCaseAreMatched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		meet bool
	}{
		{"SRC/A.go", "src/a.GO", true}, {"[a-c]", "B", true}, {"[!a-c]", "B", false}, {"[k]", "\u212a", true},
		{"ÄPFEL/", "äpfel/x", true}, {"[ä]x", "ÄX", true}, {"Σ", "ς", true}, {"a*", "A", true}, {"[xy]", "[YZ]", true},
		{"a", "b", false},
	} {
		if got := decide(t, c.a, c.b, true); got != c.meet {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}

func TestMalformedPatternsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		"": "must not be empty", "a\xff": "UTF-8", "/etc/passwd": "not absolute", `C:\work`: "not absolute",
		"C:/work": "not absolute", "a/../b": `".."`, "..": `".."`, `a\..\b`: `".."`, "{a,..}/b": `".."`,
		"{/a,b}": "not absolute", ".//./C:/work": "not absolute",
		"{.,a}/c:/b": "not absolute", "{,x}": "an alternative that is empty",
		"a\nb": "control characters", "a\x00": "control characters", "[a": `without its "]"`,
		"[a/b]": `without its "]"`, "[]": `without its "]"`, "[!]": `without its "]"`, "{a": `without its "}"`,
		"a}": `without its "{"`, "{a,[b}": `without its "]"`, "[z-a]": "whose end is before its begin",
		"{[}": `without its "]"`, "[!\x01-\U0010ffff]/[^\\x00]": "control characters",
		strings.Repeat("é", 301):                              "at most 300 characters, not 301",
		strings.Repeat("{a,b}", 6):                            "more than 32 patterns",
		"{" + strings.Repeat("a,", 40) + "}":                  "more than 32 patterns",
		strings.Repeat("{a,b}", 5) + strings.Repeat("x", 200): "2000 bytes",
	} {
		if p, err := Parse(text, false); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.40q: %v, %v; want %q", text, p, err, words)
		}
	}
}

func TestAPatternHasANormalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"./a//b/./c": "a/b/c", "a/": "a/", "a//": "a/", ".": "**", "./": "**", `src\*.go`: "src/*.go", "e\u0301": "é",
		"{a,b}/": "{a,b}/", "a/.": "a/", "{a}": "a",
	} {
		if p, err := Parse(text, false); err != nil || p.String() != want {
			t.Errorf("%q is %v, %v; want %q", text, p, err, want)
		}
	}
}

func TestInAPathNoCharacterIsSpecial(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"app/[id]/*.tsx", "{a}", "a}", "x?", "[", "a,b", "!x", "**/a"} {
		p, err := Path(path, false)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		q, err := Parse(Quote(path), false)
		if err != nil {
			t.Errorf("%q, quoted as %q: %v", path, Quote(path), err)
			continue
		}
		steps := Steps(1000)
		if meet, err := Overlap(p, q, &steps); !meet || err != nil {
			t.Errorf("%q, quoted as %q: %v, %v", path, q, meet, err)
		}
		if other, _ := Path("app/i/x.tsx", false); meets(t, other, q) {
			t.Errorf("%q, quoted as %q, matches %v", path, q, other)
		}
	}
	for path, words := range map[string]string{"a/": "not a directory", ".": "not a directory", "../a": `".."`,
		"/a": "not absolute", "": "must not be empty"} {
		if _, err := Path(path, false); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func meets(t *testing.T, p, q *Pattern) bool {
	t.Helper()
	steps := Steps(1000)
	meet, err := Overlap(p, q, &steps)
	if err != nil {
		t.Fatal(err)
	}
	return meet
}

// The worst pair of patterns visits the product of their lengths, and a decision without enough steps fails.
func TestHostilePatternsAreDecidedInBoundedWork(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{strings.Repeat("*a", 149), strings.Repeat("a*", 149) + "b"},
		{strings.Repeat("**/*a/", 49), strings.Repeat("**/*b/", 49)},
		{strings.Repeat("{a,b}", 5) + strings.Repeat("*a", 17), strings.Repeat("{a,b}", 5) + strings.Repeat("?*", 17)},
		{strings.Repeat("?", 300), strings.Repeat("*?", 149)},
	} {
		p, err := Parse(pair[0], false)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Parse(pair[1], false)
		if err != nil {
			t.Fatal(err)
		}
		most := Steps(2 * maxExpanded * maxExpanded)
		left := most
		if _, err := Overlap(p, q, &left); err != nil {
			t.Errorf("%.20q and %.20q: %v", p, q, err)
		}
		few := (most - left) / 2
		if _, err := Overlap(p, q, &few); !errors.Is(err, ErrSteps) {
			t.Errorf("%.20q and %.20q: with half of the steps that it takes: %v", p, q, err)
		}
	}
}
