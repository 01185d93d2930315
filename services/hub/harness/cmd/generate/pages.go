package main

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley.internal/shared/op"
)

// reference is the page that is generated as a whole.
const reference = "docs/tools.md"

// pages returns the hand-written pages of a repository, the README and those of docs, in the order of their names.
func pages(root string) (all []file, err error) {
	for _, pattern := range []string{"README.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, at := range found {
			name := path.Join(path.Dir(pattern), filepath.Base(at))
			if name == reference {
				continue
			}
			text, err := os.ReadFile(at)
			if err != nil {
				return nil, err
			}
			all = append(all, file{name, text})
		}
	}
	return all, nil
}

// pageFiles returns the pages with the current lists of toolsets and tools between their markers; the other text is
// written by hand. Without pages there are none.
func pageFiles(root string, c *op.Catalogue) ([]file, error) {
	all, err := pages(root)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	table, err := toolsetTable(root, c)
	if err != nil {
		return nil, err
	}
	var grid []string
	for _, p := range all {
		grid = append(grid, gridTools(string(p.text))...)
	}
	return fillPages(all, map[string]func(page string) string{
		"domains":          func(string) string { return code(c.Toolsets()) },
		"toolsets":         func(string) string { return table },
		"default toolsets": func(string) string { return strings.Join(c.Defaults, ", ") },
		"other toolsets":   func(string) string { return otherToolsets(c) },
		"more tools":       func(page string) string { return toolTable(c, grid, linkTo(page, reference)) },
	})
}

// linkTo returns the relative link from one page to another; both are paths from the root of the repository.
func linkTo(page, to string) string {
	if dir := path.Dir(page); dir != "." {
		if in, ok := strings.CutPrefix(to, dir+"/"); ok {
			return in
		}
		return strings.Repeat("../", strings.Count(dir, "/")+1) + to
	}
	return to
}

// marker matches the beginning or the end of a generated block.
var marker = regexp.MustCompile(`<!-- (generated|end): ([a-z ]+) -->`)

// fillPages replaces the text between the markers of each block, which are functions of the name of their page. Every
// block must occur once, on any page.
func fillPages(all []file, blocks map[string]func(page string) string) ([]file, error) {
	out := make([]file, len(all))
	filled := map[string]string{} // the page of each block
	for i, p := range all {
		text, err := fillPage(p, blocks, filled)
		if err != nil {
			return nil, err
		}
		out[i] = file{p.name, []byte(text)}
	}
	for name := range blocks {
		if filled[name] == "" {
			return nil, fmt.Errorf("no page has the markers of the generated list %q", name)
		}
	}
	return out, nil
}

func fillPage(p file, blocks map[string]func(page string) string, filled map[string]string) (string, error) {
	var out strings.Builder
	page, at, open := string(p.text), 0, ""
	for _, m := range marker.FindAllStringSubmatchIndex(page, -1) {
		kind, name := page[m[2]:m[3]], page[m[4]:m[5]]
		text, known := blocks[name]
		switch {
		case !known:
			return "", fmt.Errorf("%s: no list %q is generated", p.name, name)
		case kind == "generated" && filled[name] != "":
			return "", fmt.Errorf("%s: the list %q is on %s already", p.name, name, filled[name])
		case kind == "generated" && open == "":
			out.WriteString(page[at:m[1]] + text(p.name))
			open, filled[name] = name, p.name
		case kind == "end" && open == name:
			open, at = "", m[0]
		default:
			return "", fmt.Errorf("%s: the markers of %q must be one pair, in no other block", p.name, name)
		}
	}
	if open != "" {
		return "", fmt.Errorf("%s: the list %q has no end", p.name, open)
	}
	out.WriteString(page[at:])
	return out.String(), nil
}

// toolsetTable lists the toolsets, each with the first sentence about its package.
func toolsetTable(root string, c *op.Catalogue) (string, error) {
	var b strings.Builder
	b.WriteString("\n\n| toolset | |\n|---|---|\n")
	for _, set := range c.Toolsets() {
		about, err := synopsis(filepath.Join(root, "shared", set, "doc.go"))
		if err != nil {
			return "", err
		}
		about = strings.TrimPrefix(strings.TrimPrefix(about, "Package "+set+" "), "is ")
		fmt.Fprintf(&b, "| %s | %s |\n", set, strings.TrimSuffix(about, "."))
	}
	return b.String() + "\n", nil
}

// synopsis returns the first sentence of the package comment in a file.
func synopsis(name string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	return new(doc.Package).Synopsis(f.Doc.Text()), nil
}

// otherToolsets lists the toolsets that are not served by default.
func otherToolsets(c *op.Catalogue) string {
	return code(slices.DeleteFunc(slices.Clone(c.Toolsets()), func(set string) bool { return slices.Contains(c.Defaults, set) }))
}

// code lists names as code.
func code(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// toolRow matches a row of a table that begins with the name of a tool and its route.
var toolRow = regexp.MustCompile("(?m)^\\| ([a-z_]+) \\| `([A-Z]+ /[^`]*)` \\|")

// gridTools returns the tools of the hand-written table of the Grid service's tools.
func gridTools(page string) (names []string) {
	for _, m := range toolRow.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

// toolTable lists the operations of each toolset that are not in a list, with links to their descriptions on a page.
func toolTable(c *op.Catalogue, without []string, page string) string {
	var b strings.Builder
	b.WriteString("\n\n| toolset | tools |\n|---|---|\n")
	for _, set := range c.Toolsets() {
		var links []string
		for _, o := range c.Ops() {
			if o.Toolset != set || slices.Contains(without, o.Name) {
				continue
			}
			link := fmt.Sprintf("[%s](%s#%[1]s)", o.Name, page)
			if o.RESTOnly {
				link += " (REST only)"
			}
			links = append(links, link)
		}
		if len(links) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", set, strings.Join(links, ", "))
		}
	}
	return b.String() + "\n"
}
