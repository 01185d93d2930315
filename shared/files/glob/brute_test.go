package glob

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The reference: a pattern is translated to a regular expression and tried on every path of a small alphabet.

// world holds all paths of at most longest characters.
type world struct{ paths []string }

const longest = 7

func newWorld(alphabet string) world {
	var w world
	last := []string{""}
	for range longest {
		var longer []string
		for _, p := range last {
			for _, r := range alphabet {
				longer = append(longer, p+string(r))
			}
		}
		for _, p := range longer {
			if !slices.Contains(strings.Split(p, "/"), "") {
				w.paths = append(w.paths, p+"/")
			}
		}
		last = longer
	}
	return w
}

// set returns which of the paths a pattern matches, as bits.
func (w world) set(t testing.TB, pattern string, withoutCase bool) []uint64 {
	t.Helper()
	bits := make([]uint64, len(w.paths)/64+1)
	flags := ""
	if withoutCase {
		flags = "(?i)"
	}
	for _, alt := range written(pattern) {
		re, err := regexp.Compile(flags + expression(alt))
		if err != nil {
			t.Fatalf("%q of %q: %v", alt, pattern, err)
		}
		for i, p := range w.paths {
			if re.MatchString(p) {
				bits[i/64] |= 1 << (i % 64)
			}
		}
	}
	return bits
}

func common(a, b []uint64) bool {
	for i := range a {
		if a[i]&b[i] != 0 {
			return true
		}
	}
	return false
}

// written returns the texts that a pattern with braces stands for. In the patterns of these tests no class has a brace.
func written(pattern string) []string {
	open := strings.LastIndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	length := strings.IndexByte(pattern[open:], '}')
	var out []string
	for option := range strings.SplitSeq(pattern[open+1:open+length], ",") {
		out = append(out, written(pattern[:open]+option+pattern[open+length+1:])...)
	}
	return out
}

// expression returns the regular expression of a pattern for paths that end in a slash.
func expression(pattern string) string {
	const some = "(?:[^/]+/)*"
	var b strings.Builder
	b.WriteByte('^')
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		switch {
		case part == "**":
			b.WriteString(some)
		case part == "" && i == len(parts)-1, part == "." && i == len(parts)-1:
			b.WriteString(some + "[^/]+/")
		case part != "" && part != ".":
			part = strings.ReplaceAll(part, "[^", "[^/")
			part = strings.ReplaceAll(part, "?", "[^/]")
			part = regexp.MustCompile(`\*+`).ReplaceAllString(part, "[^/]*")
			b.WriteString("(?:" + part + ")/")
		}
	}
	return b.String() + "$"
}

// patterns returns the valid ones among the texts of at most n pieces, each once.
func patterns(n int, pieces ...string) []string {
	var out []string
	last := []string{""}
	for range n {
		var longer []string
		for _, p := range last {
			for _, piece := range pieces {
				longer = append(longer, p+piece)
			}
		}
		for _, text := range longer {
			if p, err := Parse(text, false); err == nil {
				out = append(out, p.String())
			}
		}
		last = longer
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func decide(t testing.TB, a, b string, withoutCase bool) bool {
	t.Helper()
	p, err := Parse(a, withoutCase)
	if err != nil {
		t.Fatalf("%q: %v", a, err)
	}
	q, err := Parse(b, withoutCase)
	if err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	steps := Steps(1 << 20)
	meet, err := Overlap(p, q, &steps)
	if err != nil {
		t.Fatalf("%q and %q: %v", a, b, err)
	}
	return meet
}

// All pairs of all short patterns are decided as by trying all paths.
func TestOverlapIsWhatTryingAllPathsFinds(t *testing.T) {
	t.Parallel()
	w := newWorld("ab/")
	all := patterns(3, "a", "b", "*", "?", "/", "**", "[^a]", "{a,b/}")
	sets, parsed := make([][]uint64, len(all)), make([]*Pattern, len(all))
	for i, text := range all {
		sets[i] = w.set(t, text, false)
		parsed[i], _ = Parse(text, false)
	}
	met := 0
	for i, a := range parsed {
		for j, b := range parsed {
			got := meets(t, a, b)
			if got != common(sets[i], sets[j]) {
				t.Errorf("%q and %q: decided %v", a, b, got)
			}
			if got {
				met++
			}
		}
	}
	if n := len(all) * len(all); n < 50_000 || met < n/20 || met > n*19/20 {
		t.Errorf("%d of %d pairs overlap: the patterns show too little", met, n)
	}
}

func TestOverlapOfLongerPatternsIsWhatTryingAllPathsFinds(t *testing.T) {
	t.Parallel()
	w := newWorld("ab/")
	r := rand.New(rand.NewPCG(15, 15))
	pieces := []string{"a", "b", "ab", "*", "?", "/", "/", "/**/", "[ab]", "[^b]", "{a,}", "{b/,*a}"}
	for range 600 {
		a, b := random(r, pieces), random(r, pieces)
		if a == "" || b == "" {
			continue
		}
		if got := decide(t, a, b, false); got != common(w.set(t, a, false), w.set(t, b, false)) {
			t.Errorf("%q and %q: decided %v", a, b, got)
		}
	}
}

// random returns a valid pattern of at most 4 pieces, or nothing.
func random(r *rand.Rand, pieces []string) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	if _, err := Parse(b.String(), false); err != nil {
		return ""
	}
	return b.String()
}

func TestOverlapWithoutCaseIsWhatTryingAllPathsFinds(t *testing.T) {
	t.Parallel()
	w := newWorld("aB/")
	all := patterns(2, "a", "A", "b", "*", "[^A]", "[A-B]", "/")
	for i, a := range all {
		sa := w.set(t, a, true)
		for _, b := range all[i:] {
			if got := decide(t, a, b, true); got != common(sa, w.set(t, b, true)) {
				t.Errorf("%q and %q: decided %v", a, b, got)
			}
		}
	}
}

// FuzzOverlap compares the decision with trying all paths, for patterns short enough that their shortest common path is
// among them. No pattern names c, which stands for all other characters: classes such as [^a] and [^b] meet there.
func FuzzOverlap(f *testing.F) {
	w := newWorld("abc/")
	for _, seed := range [][2]string{
		{"a/**", "a"}, {"**/b", "a/*"}, {"a/", "a/b"}, {"{a,b}/", "?/*b"}, {"[^a]*", "*b"}, {"***", "a**b"}, {".", "a"},
		{"{a,}", "a"}, {"a/**/b", "*/b"}, {"[a-b]", "b"}, {"[^a]", "[^b]"}, {"./0:/", "./c:/"}, {"{a,a/}*", "?[^ab]"},
	} {
		f.Add(seed[0], seed[1])
	}
	simple := regexp.MustCompile(`^([ab/*?]|\{[ab/*,]*\}|\[\^?[ab]+\])+$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, text := range []string{a, b} {
			p, err := Parse(text, false)
			if err != nil || len(text) > 2*longest {
				return
			}
			again, err := Parse(p.String(), false)
			if err != nil || again.String() != p.String() {
				t.Fatalf("the normal form of %q is %q, and of that %q, %v", text, p, again, err)
			}
			if !decide(t, text, text, false) && simple.MatchString(text) {
				t.Fatalf("%q matches nothing", text)
			}
			if !simple.MatchString(text) {
				return
			}
		}
		if weight(a)+weight(b) >= longest {
			return
		}
		if got, other := decide(t, a, b, false), decide(t, b, a, false); got != other ||
			got != common(w.set(t, a, false), w.set(t, b, false)) {
			t.Errorf("%q and %q: decided %v, and the other way round %v", a, b, got, other)
		}
	})
}

// weight is at least the length of the shortest path that a pattern matches, but for the file in a directory.
func weight(pattern string) int {
	pattern = regexp.MustCompile(`\[[^]]*\]`).ReplaceAllString(pattern, "?")
	return len(strings.NewReplacer("*", "", ",", "", "{", "", "}", "").Replace(pattern))
}
