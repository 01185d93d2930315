// Command generate writes the files that are derived from the definitions in the code: the reference of the tools, the
// lists of toolsets and tools in the README, Firestore's indexes, and the inputs of Terraform.
//
// With -check it writes nothing and fails if a file is not up to date, as CI and a test require. The generated files are
// committed, so that a change of an operation or of an index shows in the diff. This command must not write anything
// that is not derived from the code, except for the copy of the rules that Terraform reads, and the text of the README
// around its lists.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley.internal/shared/app"
	"parley.internal/shared/store/firestore"
)

func main() {
	root := flag.String("root", "../../..", "root of the repository")
	check := flag.Bool("check", false, "write nothing; fail if a file is not up to date")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// file is a generated file; its name is a path relative to the root of the repository.
type file struct {
	name string
	text []byte
}

func files(root string) ([]file, error) {
	indexes, err := firestore.IndexesJSON(app.Schema())
	if err != nil {
		return nil, err
	}
	c := app.New(nil, app.Ports{}).Catalogue()
	readme, err := readmeFile(root, c)
	if err != nil {
		return nil, err
	}
	more, err := infraFiles(root, indexes)
	return slices.Concat([]file{
		{"docs/tools.md", c.Reference()},
		{"firestore.indexes.json", indexes},
	}, readme, more), err
}

func run(root string, check bool) error {
	made, err := files(root)
	if err != nil {
		return err
	}
	drifted, err := stale(root, made)
	if err != nil {
		return err
	}
	if check {
		return notUpToDate(drifted)
	}
	for _, f := range drifted {
		at := filepath.Join(root, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, f.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// stale returns the files that are missing or differ from the generated ones.
func stale(root string, made []file) ([]file, error) {
	var out []file
	for _, f := range made {
		there, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, f)
		case err != nil:
			return nil, err
		case !bytes.Equal(there, f.text):
			out = append(out, f)
		}
	}
	return out, nil
}

// notUpToDate returns an error that names the files, nil for none.
func notUpToDate(drifted []file) error {
	if len(drifted) == 0 {
		return nil
	}
	names := make([]string, len(drifted))
	for i, f := range drifted {
		names[i] = f.name
	}
	return fmt.Errorf("not up to date: %s; run `make generate` and commit the files that it writes", strings.Join(names, ", "))
}
