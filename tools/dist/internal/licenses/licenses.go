package licenses

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Name is the name of the file in artifacts.
const Name = "THIRD_PARTY_LICENSES"

// Module is a module that is linked into a program.
type Module struct {
	// Path and Version name it.
	Path, Version string
	// Dir is the directory of its sources, and Packages are those of its packages that are linked.
	Dir      string
	Packages []string
}

var (
	// legal matches the names of files that have to go with a program.
	legal = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)
	// grant matches those of them that allow the use.
	grant = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright)`)
)

const head = "Parley's programs hold the modules below. Each is named with its version, and below it are its license and notices,\n" +
	"as its authors distribute them.\n"

// Text returns the licenses and notices of modules in the order of their paths, and depends on nothing else. They are
// those in the directory of the module, and in those of its packages and above them. A module without a license is an
// error.
func Text(modules []Module) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(head)
	for _, m := range slices.SortedFunc(slices.Values(modules), func(a, b Module) int { return cmp.Compare(a.Path, b.Path) }) {
		names, err := files(m)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", m.Path, m.Version, err)
		}
		if !slices.ContainsFunc(names, func(name string) bool { return grant.MatchString(filepath.Base(name)) }) {
			return nil, fmt.Errorf("%s %s has no file such as LICENSE or COPYING in %s: nobody may hand on a program that holds it, "+
				"so leave the module out, or take a version that has one", m.Path, m.Version, m.Dir)
		}
		fmt.Fprintf(&out, "\n%s\n%s %s\n%[1]s\n", strings.Repeat("=", 100), m.Path, m.Version)
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(m.Dir, name))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "\n--- %s\n\n%s\n", filepath.ToSlash(name),
				strings.Trim(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"))
		}
	}
	return out.Bytes(), nil
}

// files returns the names of the legal files of a module, below its directory and sorted.
func files(m Module) ([]string, error) {
	places := map[string]bool{".": true}
	for _, dir := range m.Packages {
		below, err := filepath.Rel(m.Dir, dir)
		if err != nil || !filepath.IsLocal(below) {
			return nil, errors.Join(fmt.Errorf("its package %s is not in its directory %s", dir, m.Dir), err)
		}
		for ; below != "."; below = filepath.Dir(below) {
			places[below] = true
		}
	}
	var out []string
	for place := range places {
		list, err := os.ReadDir(filepath.Join(m.Dir, place))
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if e.Type().IsRegular() && legal.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
				out = append(out, filepath.Join(place, e.Name()))
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
