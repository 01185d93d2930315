package harness_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	mark    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// fenced are the blocks of a page, whose lines are no headings.
var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

// anchors returns the names by which links reach the headings of a page.
func anchors(page string) (names []string) {
	page = fenced.ReplaceAllString(page, "")
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		names = append(names, strings.ReplaceAll(mark.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

func TestEveryLinkOfAPageLeadsToAFileAndAHeading(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "infra/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		pages = append(pages, found...)
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	links := 0
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(read(page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			target := page
			path, anchor, _ := strings.Cut(m[1], "#")
			if path != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(read(target)), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", page, m[1], target)
			}
		}
	}
	if links == 0 {
		t.Error("no page has a link")
	}
}
