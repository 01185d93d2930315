package main

import (
	"errors"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley.internal/shared/op"
)

// readmeFile returns the README with the current lists of toolsets and tools between its markers; its other text is
// written by hand. Without a README there is none.
func readmeFile(root string, c *op.Catalogue) ([]file, error) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	table, err := toolsetTable(root, c)
	if err != nil {
		return nil, err
	}
	text, err := fillBlocks(string(page), map[string]string{
		"toolsets":         table,
		"default toolsets": strings.Join(c.Defaults, ", "),
		"other toolsets":   otherToolsets(c),
		"more tools":       toolTable(c, gridTools(string(page))),
	})
	return []file{{"README.md", []byte(text)}}, err
}

// marker matches the beginning or the end of a generated block.
var marker = regexp.MustCompile(`<!-- (generated|end): ([a-z ]+) -->`)

// fillBlocks replaces the text between the markers of each block. Every block must occur once.
func fillBlocks(page string, blocks map[string]string) (string, error) {
	var out strings.Builder
	var filled []string
	at, open := 0, ""
	for _, m := range marker.FindAllStringSubmatchIndex(page, -1) {
		kind, name := page[m[2]:m[3]], page[m[4]:m[5]]
		text, known := blocks[name]
		switch {
		case !known:
			return "", fmt.Errorf("README.md: no list %q is generated", name)
		case kind == "generated" && open == "" && !slices.Contains(filled, name):
			out.WriteString(page[at:m[1]] + text)
			open, filled = name, append(filled, name)
		case kind == "end" && open == name:
			open, at = "", m[0]
		default:
			return "", fmt.Errorf("README.md: the markers of %q must be one pair, in no other block", name)
		}
	}
	if open != "" || len(filled) != len(blocks) {
		return "", fmt.Errorf("README.md: of %d generated lists it has the markers of %q", len(blocks), filled)
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
	var names []string
	for _, set := range c.Toolsets() {
		if !slices.Contains(c.Defaults, set) {
			names = append(names, "`"+set+"`")
		}
	}
	return strings.Join(names, ", ")
}

// toolRow matches a row of a table that begins with the name of a tool and its route.
var toolRow = regexp.MustCompile("(?m)^\\| ([a-z_]+) \\| `([A-Z]+ /[^`]*)` \\|")

// gridTools returns the tools of the hand-written table of the Grid service's tools.
func gridTools(page string) (names []string) {
	for _, m := range toolRow.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

// toolTable lists the operations of each toolset that are not in a list, with links to their descriptions.
func toolTable(c *op.Catalogue, without []string) string {
	var b strings.Builder
	b.WriteString("\n\n| toolset | tools |\n|---|---|\n")
	for _, set := range c.Toolsets() {
		var links []string
		for _, o := range c.Ops() {
			if o.Toolset != set || slices.Contains(without, o.Name) {
				continue
			}
			link := fmt.Sprintf("[%s](docs/tools.md#%[1]s)", o.Name)
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
