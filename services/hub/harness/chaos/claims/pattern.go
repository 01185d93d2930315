package claims

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The files are f0.go to f9.go and f0.md to f9.md in each of the directories d0 to d3.
const (
	dirs  = 4
	files = 10
)

var kinds = []string{"go", "md"}

// pattern is a pattern of paths and the files that it matches.
type pattern struct {
	text    string
	matches []string
}

// made returns the pattern of a text that matches the files for which has is true.
func made(text string, has func(d, f int, kind string) bool) pattern {
	p := pattern{text: text}
	for d := range dirs {
		for f := range files {
			for _, kind := range kinds {
				if has(d, f, kind) {
					p.matches = append(p.matches, fmt.Sprintf("d%d/f%d.%s", d, f, kind))
				}
			}
		}
	}
	return p
}

// choose returns a random pattern.
func choose(random *rand.Rand) pattern {
	d, e, f, g := random.IntN(dirs), random.IntN(dirs), random.IntN(files), random.IntN(files)
	kind := kinds[random.IntN(len(kinds))]
	f, g = min(f, g), max(f, g)
	switch random.IntN(16) {
	case 0:
		return made(fmt.Sprintf("d%d/", d), func(a, _ int, _ string) bool { return a == d })
	case 1:
		return made(fmt.Sprintf("d%d/*.%s", d, kind), func(a, _ int, k string) bool { return a == d && k == kind })
	case 2:
		return made(fmt.Sprintf("**/f%d.*", f), func(_, b int, _ string) bool { return b == f })
	case 3:
		return made(fmt.Sprintf("d%d/f[%d-%d].%s", d, f, g, kind),
			func(a, b int, k string) bool { return a == d && b >= f && b <= g && k == kind })
	case 4:
		return made(fmt.Sprintf("{d%d,d%d}/f%d.%s", d, e, f, kind),
			func(a, b int, k string) bool { return (a == d || a == e) && b == f && k == kind })
	case 5:
		return made(fmt.Sprintf("*/f[!%d].%s", f, kind), func(_, b int, k string) bool { return b != f && k == kind })
	case 6:
		return made(fmt.Sprintf("d%d/?%d.%s", d, f, kind), func(a, b int, k string) bool { return a == d && b == f && k == kind })
	default:
		return made(fmt.Sprintf("d%d/f%d.%s", d, f, kind), func(a, b int, k string) bool { return a == d && b == f && k == kind })
	}
}

// texts returns the texts of patterns.
func texts(ps []pattern) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.text
	}
	return out
}

// line returns the patterns' texts in one line.
func line(ps []pattern) string { return strings.Join(texts(ps), " ") }
