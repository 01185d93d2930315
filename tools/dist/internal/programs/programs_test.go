package programs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link matches the place to which a page leads.
var link = regexp.MustCompile(`\]\(([^)\s#]+)[^)\s]*\)`)

func TestEveryLinkOfThePagesLeadsToAFileBesideThem(t *testing.T) {
	t.Parallel()
	root := filepath.FromSlash("../../../..")
	files, err := beside(root)
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"README.md": string(readme)}
	for _, f := range files {
		pages[f.Name] = string(f.Data)
	}
	links := 0
	for name, text := range pages {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if _, found := pages[path.Join(path.Dir(name), m[1])]; !found {
				t.Errorf("%s leads to %s, which no artifact has", name, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("the pages have %d links", links)
	}
}

func TestARepositoryWithoutPagesIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := beside(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no docs/*.md") {
		t.Errorf("%v", err)
	}
}
