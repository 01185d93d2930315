package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
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

// everyPage returns the text of all hand-written pages.
func everyPage(t *testing.T) string {
	t.Helper()
	all, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, p := range all {
		text.Write(p.text)
		text.WriteByte('\n')
	}
	return text.String()
}

// The promise of the README is that a person reads it in five minutes.
func TestTheREADMEHasAtMost200LinesAndNoPageMoreThan320(t *testing.T) {
	t.Parallel()
	all, err := pages(root)
	if err != nil || len(all) < 20 {
		t.Fatalf("%d pages, %v", len(all), err)
	}
	for _, p := range all {
		most := 320
		if p.name == "README.md" {
			most = 200
		}
		if n := strings.Count(string(p.text), "\n"); n > most {
			t.Errorf("%s has %d lines, more than %d", p.name, n, most)
		}
	}
}

func TestTheIndexOfDocsListsEveryPage(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/README.md")
	all, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(all, file{name: reference}) {
		name, in := strings.CutPrefix(p.name, "docs/")
		if in && name != "README.md" && !strings.Contains(index, "["+name+"]("+name+")") {
			t.Errorf("docs/README.md does not link to %s", name)
		}
	}
}

func TestBlocksAreFilledOnWhateverPageTheyAreAndTheOtherTextStays(t *testing.T) {
	t.Parallel()
	one := func(string) string { return "1" }
	blocks := map[string]func(string) string{"a": one, "b": func(page string) string { return "\n" + page + "\n" }}
	const a, b = "<!-- generated: a -->old<!-- end: a -->", "<!-- generated: b --><!-- end: b -->"
	fill := func(texts ...string) (string, error) {
		var all []file
		for i, text := range texts {
			all = append(all, file{"p" + strconv.Itoa(i), []byte(text)})
		}
		out, err := fillPages(all, blocks)
		var got []string
		for _, p := range out {
			got = append(got, string(p.text))
		}
		return strings.Join(got, "|"), err
	}
	const want = "x <!-- generated: a -->1<!-- end: a --> y|<!-- generated: b -->\np1\n<!-- end: b --> z|none"
	got, err := fill("x "+a+" y", b+" z", "none")
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if again, err := fill(strings.Split(got, "|")...); err != nil || again != got {
		t.Errorf("filled again it is %q, %v", again, err)
	}
	for name, texts := range map[string][]string{
		"a block is missing":           {a, ""},
		"a block is twice on a page":   {a + a + b},
		"a block is on two pages":      {a + b, a},
		"a block is unknown":           {a + b, "<!-- generated: c --><!-- end: c -->"},
		"a block has no end":           {a, "<!-- generated: b -->"},
		"a block ends on another page": {a + "<!-- generated: b -->", "<!-- end: b -->"},
		"a block has no begin":         {a + b + "<!-- end: a -->"},
		"a block is in another":        {"<!-- generated: a -->" + b + "<!-- end: a -->"},
	} {
		if got, err := fill(texts...); err == nil {
			t.Errorf("%s: it is accepted as %q", name, got)
		}
	}
}

func TestALinkFromAPageIsRelative(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{"README.md": "docs/tools.md", "docs/api.md": "tools.md",
		"infra/README.md": "../docs/tools.md", "a/b/c.md": "../../docs/tools.md"} {
		if got := linkTo(page, reference); got != want {
			t.Errorf("from %s: %s, want %s", page, got, want)
		}
	}
}

// The table of errors is written by hand, because only people know what to do.
func TestTheTableOfErrorsHasTheCodesAndStatusesOfFaults(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| (\\d{3}) \\| (yes|no|later) \\|")
	listed := map[fault.Kind]bool{}
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/api.md"), -1) {
		k, known := fault.ParseCode(m[1])
		if !known || strconv.Itoa(k.HTTP()) != m[2] || k.Redeliver() != (m[3] == "yes") {
			t.Errorf("the row %q disagrees with the code", m[0])
		}
		listed[k] = true
	}
	for k := fault.Internal; k == fault.Internal || k.Code() != fault.Internal.Code(); k++ { // one that is unknown is Internal
		if !listed[k] {
			t.Errorf("the table lacks %s", k.Code())
		}
	}
}

// The table of the Grid service's tools is written by hand, because the service does not change any more.
func TestThePagesHaveTheRoutesOfTheGridToolsInParley(t *testing.T) {
	t.Parallel()
	page, c := everyPage(t), app.New(nil, app.Ports{}).Catalogue()
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

func TestEveryMakeTargetOnAPageExists(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile", "infra/deploy.mk")
	for _, m := range regexp.MustCompile("(?m)(?:`|^|&& )make ([a-z-]+)").FindAllStringSubmatch(everyPage(t), -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `:`).MatchString(makefile) {
			t.Errorf("there is no target %s", m[1])
		}
	}
}

// A variable is one of the Makefile, or one of the environment that some source or Go's own library reads.
func TestEveryVariableOnAPageExists(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile", "infra/deploy.mk")
	sources := makefile + read(t, ".ci/security") + sources(t)
	sources += " SSL_CERT_FILE GOMEMLIMIT"
	variable := regexp.MustCompile("`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)(?:=[^`]*)?`")
	for line := range strings.Lines(everyPage(t)) {
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

// overview returns the overview of the directories.
func overview(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, "docs/architecture.md"), "\n## The map\n")
	_, rest, _ = strings.Cut(rest, "```text\n")
	text, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("docs/architecture.md has no overview of the directories")
	}
	return text
}

// written are files of a deployment, which its operator makes.
var written = []string{"infra/terraform.tfvars", "infra/images.lock", "infra/.terraform.lock.hcl"}

// A path is one from the root, or the name of a Go file somewhere; the overview of the directories has only the last
// elements of their paths. Another test follows the links of all pages.
func TestEveryPathOnAPageExists(t *testing.T) {
	t.Parallel()
	page, all := everyPage(t), paths(t)
	exists := func(path string) bool {
		return slices.Contains(all, path) || slices.Contains(all, path+"/")
	}
	ends := func(end string) bool {
		return slices.ContainsFunc(all, func(p string) bool { return strings.HasSuffix("/"+p, "/"+end) })
	}
	overview := overview(t)
	dirs := regexp.MustCompile(`(?m)(?:^|[ ])([a-z]+(?:/[a-z]+)*/)`).FindAllStringSubmatch(overview, -1)
	if len(dirs) < 30 {
		t.Errorf("the overview of the directories names %d, which are too few", len(dirs))
	}
	for _, m := range dirs {
		if !ends(m[1]) {
			t.Errorf("the overview names %s, which does not exist", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`([A-Za-z0-9_./-]+)`").FindAllStringSubmatch(page, -1) {
		path := strings.TrimSuffix(m[1], "/")
		first, _, deep := strings.Cut(path, "/")
		switch {
		case slices.Contains(written, path), first == ".git", path == "tools/call": // a method of MCP
		case deep && exists(first), strings.HasPrefix(path, "firestore."), strings.HasPrefix(path, "firebase."):
			if !exists(path) {
				t.Errorf("it names %s, which does not exist", path)
			}
		case !deep && strings.HasSuffix(path, ".go") && !ends(path):
			t.Errorf("it names %s, which no package has", path)
		}
	}
}

// A person searches the page for the words that a program printed, so they must be its words. An ellipsis stands for
// what differs.
func TestTheSymptomsQuoteWhatProgramsPrint(t *testing.T) {
	t.Parallel()
	joined := regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(sources(t), "") + read(t, "Makefile")
	quote, symptom := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`(?m)^\| ([^|]+) \|`)
	quoted := 0
	for _, row := range symptom.FindAllStringSubmatch(read(t, "docs/faq.md"), -1) {
		for _, m := range quote.FindAllStringSubmatch(row[1], -1) {
			if !strings.Contains(m[1], " ") {
				continue
			}
			quoted++
			for part := range strings.SplitSeq(m[1], "…") {
				if part = strings.TrimSpace(part); !strings.Contains(joined, part) {
					t.Errorf("no program prints %q", part)
				}
			}
		}
	}
	if quoted < 10 {
		t.Errorf("the page quotes %d messages, which are too few", quoted)
	}
}
