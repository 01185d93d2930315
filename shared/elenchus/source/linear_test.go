//go:build !race

package source

import (
	"runtime"
	"strings"
	"testing"
)

// hostile are texts that make a reader with a look ahead read them again and again.
var hostile = map[string]string{
	"expressions that do not end":   strings.Repeat("/[", 100_000),
	"expressions after values":      strings.Repeat("a=/[", 50_000),
	"brackets":                      strings.Repeat("[", 200_000) + "a/b.go:1",
	"brackets at the end":           "a/b.go:1" + strings.Repeat("]", 200_000),
	"imports without a module":      strings.Repeat("import {a,", 20_000),
	"exports":                       strings.Repeat("export * ", 20_000),
	"open templates":                strings.Repeat("`${", 60_000),
	"open comments":                 strings.Repeat("/*", 100_000),
	"quotes":                        strings.Repeat("'\\", 100_000),
	"triple quotes":                 strings.Repeat(`"""`, 60_000),
	"one Python statement":          "import " + strings.Repeat("a,", 100_000),
	"Python statements":             strings.Repeat("import a\n", 20_000),
	"a Python import of many names": "from . import " + strings.Repeat("a,", 100_000),
	"dots":                          "from " + strings.Repeat(".", 200_000) + " import a",
	"fences":                        strings.Repeat("```ts\n", 30_000),
	"a long fence label":            "```ts " + strings.Repeat("a/b.ts ", 30_000) + "\ncode\n```",
	"paths":                         strings.Repeat("a/b.go:1 ", 20_000),
	"Go imports":                    "package p\nimport (\n" + strings.Repeat("\"m/a\"\n", 30_000) + ")",
	"Go parentheses":                "package p\nimport " + strings.Repeat("(", 200_000),
	"schemes":                       strings.Repeat("a://", 50_000),
}

// readAll reads a text in every way that a verification does, and returns the bytes that it allocates.
func readAll(text string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	modules := []Module{{"", "m"}, {"sub", "m/sub"}}
	References(text, "/w", modules)
	for _, from := range []string{"src/a.ts", "src/a.py", "sub/a.go"} {
		Imports(from, text, modules)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The tests are not parallel, because they count the allocations of the process.

func TestAttackTheCostOfATextIsInProportionToItsLength(t *testing.T) {
	for name, text := range hostile {
		l := &scriptLexer{code: text}
		for l.at < len(l.code) {
			l.next()
		}
		if l.tried > len(text) {
			t.Errorf("%s: %d bytes were read again, of %d", name, l.tried, len(text))
		}
		if used := readAll(text); used > 500*uint64(len(text)) {
			t.Errorf("%s: %d KiB take %d MiB", name, len(text)>>10, used>>20)
		}
	}
}

func FuzzTheCostOfAText(f *testing.F) {
	for _, text := range hostile {
		f.Add(text[:min(len(text), 300)])
	}
	f.Fuzz(func(t *testing.T, part string) {
		if part == "" || len(part) > 1000 {
			return
		}
		text := strings.Repeat(part, 50_000/len(part)+1)
		l := &scriptLexer{code: text}
		for l.at < len(l.code) {
			l.next()
		}
		if l.tried > len(text) {
			t.Fatalf("%q: %d bytes were read again, of %d", part, l.tried, len(text))
		}
		if used := readAll(text); used > 2000*uint64(len(text)) {
			t.Fatalf("%q: %d KiB take %d MiB", part, len(text)>>10, used>>20)
		}
	})
}
