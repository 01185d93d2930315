package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/op"
)

// root is the root of the repository.
var root = filepath.Join("..", "..", "..", "..", "..")

func read(t *testing.T, names ...string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func TestBlocksOfAPageAreFilledAndTheOtherTextStays(t *testing.T) {
	t.Parallel()
	blocks := map[string]string{"a": "1", "b": "\n2\n"}
	const a, b = "<!-- generated: a -->old<!-- end: a -->", "<!-- generated: b --><!-- end: b -->"
	got, err := fillBlocks("x "+a+" y\n"+b+" z", blocks)
	want := "x <!-- generated: a -->1<!-- end: a --> y\n<!-- generated: b -->\n2\n<!-- end: b --> z"
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if again, err := fillBlocks(got, blocks); err != nil || again != got {
		t.Errorf("filled again it is %q, %v", again, err)
	}
	for name, page := range map[string]string{
		"a block is missing":     a,
		"a block is there twice": a + a + b,
		"a block is unknown":     a + b + "<!-- generated: c --><!-- end: c -->",
		"a block has no end":     a + "<!-- generated: b -->",
		"a block has no begin":   a + b + "<!-- end: a -->",
		"blocks are nested":      "<!-- generated: a -->" + b + "<!-- end: a -->",
	} {
		if got, err := fillBlocks(page, blocks); err == nil {
			t.Errorf("%s: it is accepted as %q", name, got)
		}
	}
}

// The table of the Grid service's tools is written by hand, because the service does not change any more.
func TestTheREADMEHasTheRoutesOfTheGridToolsInParley(t *testing.T) {
	t.Parallel()
	page, c := read(t, "README.md"), app.New(nil, app.Ports{}).Catalogue()
	if n := len(gridTools(page)); n != 18 {
		t.Errorf("the table has %d tools, want 18", n)
	}
	route := regexp.MustCompile("`((?:GET|POST|PUT|PATCH|DELETE) /[^`]*)`")
	for line := range strings.Lines(page) {
		m := toolRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		o := c.Op(m[1])
		if o == nil {
			t.Errorf("there is no tool %s", m[1])
			continue
		}
		for _, named := range route.FindAllStringSubmatch(line, -1) {
			if !slices.ContainsFunc(o.Routes(), func(r op.Compat) bool { return r.Route == named[1] }) {
				t.Errorf("%s has no route %s", o.Name, named[1])
			}
		}
	}
}

func TestEveryMakeTargetInTheREADMEExists(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile", "infra/deploy.mk")
	for _, m := range regexp.MustCompile("(?m)(?:`|^|&& )make ([a-z-]+)").FindAllStringSubmatch(read(t, "README.md"), -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `:`).MatchString(makefile) {
			t.Errorf("there is no target %s", m[1])
		}
	}
}

// A variable is one of the Makefile, or one of the environment that some source reads.
func TestEveryVariableInTheREADMEExists(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile", "infra/deploy.mk")
	sources := makefile + sources(t)
	variable := regexp.MustCompile("`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)(?:=[^`]*)?`")
	for line := range strings.Lines(read(t, "README.md")) {
		for _, m := range variable.FindAllStringSubmatch(line, -1) {
			if strings.Contains(line, "in the `Makefile`") {
				if !regexp.MustCompile(`(?m)^` + m[1] + `\s*:?=`).MatchString(makefile) {
					t.Errorf("the Makefile has no variable %s", m[1])
				}
			} else if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(sources) {
				t.Errorf("nothing reads the variable %s", m[1])
			}
		}
	}
}

// sources returns the Go source of all modules.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, path := range paths(t) {
		if strings.HasSuffix(path, ".go") {
			all.WriteString(read(t, path))
		}
	}
	return all.String()
}

// paths returns the files and directories of the repository; those of directories end with a slash. It leaves out data
// of runs, dependencies of tests and Git's own.
func paths(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "bin", ".parley"}, d.Name()) {
			return fs.SkipDir
		}
		name, err := filepath.Rel(root, path)
		if name = filepath.ToSlash(name); d.IsDir() {
			name += "/"
		}
		all = append(all, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A path is one from the root, the target of a link, or the name of a Go file somewhere; the overview of the
// directories has only the last elements of their paths.
func TestEveryPathInTheREADMEExists(t *testing.T) {
	t.Parallel()
	page, all := read(t, "README.md"), paths(t)
	exists := func(path string) bool {
		return slices.Contains(all, path) || slices.Contains(all, path+"/")
	}
	ends := func(end string) bool {
		return slices.ContainsFunc(all, func(p string) bool { return strings.HasSuffix("/"+p, "/"+end) })
	}
	_, overview, _ := strings.Cut(page, "\n## Change it\n")
	_, overview, _ = strings.Cut(overview, "```\n")
	overview, _, _ = strings.Cut(overview, "```\n")
	dirs := regexp.MustCompile(`(?m)(?:^|[ ])([a-z]+(?:/[a-z]+)*/)`).FindAllStringSubmatch(overview, -1)
	if len(dirs) < 30 {
		t.Errorf("the overview of the directories names %d, which are too few", len(dirs))
	}
	for _, m := range dirs {
		if !ends(m[1]) {
			t.Errorf("the overview names %s, which does not exist", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(page, -1) {
		if !exists(m[1]) {
			t.Errorf("a link leads to %s, which does not exist", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`([A-Za-z0-9_./-]+)`").FindAllStringSubmatch(page, -1) {
		path := strings.TrimSuffix(m[1], "/")
		first, _, deep := strings.Cut(path, "/")
		switch {
		case path == "infra/terraform.tfvars": // the operator writes it
		case deep && exists(first), strings.HasPrefix(path, "firestore."), strings.HasPrefix(path, "firebase."):
			if !exists(path) {
				t.Errorf("it names %s, which does not exist", path)
			}
		case !deep && strings.HasSuffix(path, ".go") && !ends(path):
			t.Errorf("it names %s, which no package has", path)
		}
	}
}

func TestTheREADMENamesTheDirectoryOfEachToolset(t *testing.T) {
	t.Parallel()
	page := read(t, "README.md")
	for _, set := range app.New(nil, app.Ports{}).Catalogue().Toolsets() {
		if !regexp.MustCompile(`(?m)^ .*\b` + set + `/`).MatchString(page) {
			t.Errorf("the overview of the directories lacks %s/", set)
		}
	}
}
