package app

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "parley.internal/shared/"

// rule lists the packages of the module that a package may import, and the reason for the limit.
type rule struct {
	may []string
	why string
}

// domains are the packages that the application registers.
var domains = func() (names []string) {
	for _, d := range New(nil, Ports{}).domains {
		names = append(names, strings.TrimPrefix(reflect.TypeOf(d).Elem().PkgPath(), module))
	}
	return names
}()

// domainMay lists the packages that a domain may import.
var domainMay = []string{"domain", "op", "store", "identity", "fault", "idempotency", "task", "push", "store/words",
	"sleep"}

// rules has a row for every package that is no domain. Imports run one way:
// app → domains → {op, idempotency, task, push} → {store, identity} → fault.
var rules = map[string]rule{
	"fault":    {nil, "every package imports it"},
	"identity": {[]string{"fault"}, "the caller is known before any data is read"},
	"domain":   {[]string{"op", "store", "identity"}, "its interfaces depend on no domain"},
	"op": {
		[]string{"fault", "identity", "jsonscan"}, "the definition of operations depends on no domain and no store",
	},
	"op/optest": {
		[]string{"op", "passkeys/softkey"}, "it runs the cases of any operation, over any transport, and signs what they do",
	},
	"store":       {[]string{"fault", "store/words"}, "the interface depends on neither drivers nor callers"},
	"store/words": {[]string{"fault"}, "it compares texts"},
	"idempotency": {[]string{"store", "fault", "sleep"}, "it works for documents of any domain"},
	"cache":       {nil, "it holds values of any type"},
	"jsonscan":    {nil, "it measures texts"},
	"sleep":       {nil, "any package may pause"},
	"quota":       {[]string{"store", "fault"}, "it counts the documents of any domain"},
	"cloudlog":    {nil, "it writes records of any program"},
	"push":        {nil, "the interface depends on neither drivers nor recipients"},
	"task": {
		[]string{"store", "identity", "fault"}, "it holds the document that domains share, with its pure rules",
	},
	"app": {
		slices.Concat(domains, domainMay, []string{"cache", "quota", "hook/wire", "push/direct"}), "it connects all domains, over any store",
	},
	"elenchus/source":        {nil, "it parses texts"},
	"dispatch/line":          {nil, "it orders calls that wait, and knows no work"},
	"hook/wire":              {nil, "the small program of the hooks imports it"},
	"passkeys/softkey":       {nil, "it imitates what a person holds"},
	"files/glob":             {nil, "it compares texts"},
	"elenchus/workspace":     {[]string{"fault"}, "it reads the files under a root, for any program"},
	"store/sqlite":           {[]string{"store", "store/words", "fault"}, "a driver stores documents of any domain"},
	"store/firestore":        {[]string{"store", "store/words", "fault", "sleep"}, "a driver stores documents of any domain"},
	"push/outbound":          {[]string{"push"}, "it calls any address"},
	"push/webpush":           {[]string{"push", "push/outbound"}, "a driver sends any notification"},
	"push/webpush/cmd/vapid": {[]string{"push/webpush"}, "it is a command around the driver"},
	"push/ntfy":              {[]string{"push", "push/outbound"}, "a driver sends any notification"},
	"push/webhook":           {[]string{"push", "push/outbound"}, "a driver sends any notification"},
	"push/direct": {
		[]string{"push", "push/outbound", "push/webpush", "push/ntfy", "push/webhook", "fault"},
		"it chooses among drivers, and knows no users",
	},
	"push/webpush/webpushtest": {nil, "it imitates an external service"},
	"push/ntfy/ntfytest":       {nil, "it imitates an external service"},
	"push/fcm":                 {[]string{"push", "fault"}, "a driver sends any notification"},
	"push/fcm/fcmtest":         {nil, "it imitates an external service"},
	"supervise":                {nil, "it runs any program"},
	"store/emulator":           {[]string{"supervise"}, "it starts a process"},
	"store/storetest": {
		[]string{"store", "store/words", "fault", "store/sqlite", "store/firestore", "store/emulator"}, "tests open both drivers",
	},

	"domaintest": {
		[]string{
			"store", "store/storetest", "store/sqlite", "store/firestore", "store/emulator", "identity", "fault", "op",
		},
		"it opens both stores for the tests of any domain",
	},
	"client": {
		append([]string{"op", "fault", "identity", "hook/wire", "sleep"}, domains...),
		"programs outside get the types of the domains without servers and stores",
	},
	"client/generate": {[]string{"app", "op"}, "it writes the methods of the client from the catalogue"},

	"rules": {nil, "it contains only tests"},

	"store/emulator/cmd/withemulator": {[]string{"store/emulator"}, "it is a command around the emulator"},
}

// parts are packages below a domain that belong to it: the domain may import them too.
var parts = map[string][]string{"elenchus": {"elenchus/source"}, "files": {"files/glob"}, "dispatch": {"dispatch/line"},
	"hook": {"hook/wire"}}

// nowhere are modules that no file of shared may import, tests included.
var nowhere = map[string]string{
	"github.com/labstack/echo":    "HTTP belongs to the hub",
	"github.com/mark3labs/mcp-go": "MCP belongs to the hub",
}

// imports returns the imports of every package.
func imports(t *testing.T, tests bool) map[string]map[string]bool {
	t.Helper()
	packages := map[string]map[string]bool{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") ||
			(!tests && strings.HasSuffix(file, "_test.go")) {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel("..", filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg = filepath.ToSlash(pkg)
		if packages[pkg] == nil {
			packages[pkg] = map[string]bool{}
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			packages[pkg][name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	packages := imports(t, false)
	for pkg, imported := range packages {
		r, known := rules[pkg]
		if slices.Contains(domains, pkg) {
			r, known = rule{domainMay, "a domain needs another through an interface of its own alone"}, true
		}
		if !known {
			t.Errorf("%s has no row in the table: say what it may import, and why", pkg)
			continue
		}
		for name := range imported {
			other, internal := strings.CutPrefix(name, module)
			if internal && !slices.Contains(r.may, other) && !slices.Contains(parts[pkg], other) {
				t.Errorf("%s imports %s; it may import %q: %s", pkg, other, r.may, r.why)
			}
		}
	}
	for pkg, r := range rules {
		if packages[pkg] == nil || r.why == "" {
			t.Errorf("the row of %s has no package or no reason", pkg)
		}
	}
}

// A program that imports the client is not to carry a database with it.
func TestTheClientReachesNoDriver(t *testing.T) {
	t.Parallel()
	packages := imports(t, false)
	reached := []string{"client"}
	for i := 0; i < len(reached); i++ {
		for name := range packages[reached[i]] {
			if pkg, internal := strings.CutPrefix(name, module); internal && !slices.Contains(reached, pkg) {
				reached = append(reached, pkg)
			}
		}
	}
	for _, pkg := range []string{"app", "store/sqlite", "store/firestore", "push/fcm"} {
		if slices.Contains(reached, pkg) {
			t.Errorf("the client imports %s by way of others", pkg)
		}
	}
}

func TestNoTransportIsImported(t *testing.T) {
	t.Parallel()
	for pkg, imported := range imports(t, true) {
		for name := range imported {
			for banned, why := range nowhere {
				if name == banned || strings.HasPrefix(name, banned+"/") {
					t.Errorf("%s imports %s: %s", pkg, name, why)
				}
			}
			if strings.HasPrefix(name, "parley.internal/") && !strings.HasPrefix(name, module) {
				t.Errorf("%s imports %s: shared knows no service", pkg, name)
			}
		}
	}
}

// A package with operations that is not registered would be held to no rule and serve nobody.
func TestAPackageWithOperationsIsARegisteredDomain(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/operations.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if pkg := path.Base(filepath.ToSlash(filepath.Dir(f))); !slices.Contains(domains, pkg) {
			t.Errorf("%s has operations and is not among the domains of New", pkg)
		}
	}
}
