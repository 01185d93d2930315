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

// rule is what a room of the module may import of the others, and why no more.
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

// domainMay is what one of them may import.
var domainMay = []string{"domain", "op", "store", "identity", "fault", "idempotency", "task", "push"}

// rules has a row for every package that is no domain. Imports run one way:
// app → domains → {op, idempotency, task, push} → {store, identity} → fault.
var rules = map[string]rule{
	"fault":              {nil, "everyone knows faults, so they know nobody"},
	"identity":           {[]string{"fault"}, "who calls is settled before anything is read"},
	"domain":             {[]string{"op", "store"}, "it says what a domain offers, and knows none"},
	"op":                 {[]string{"fault", "identity"}, "a definition of operations knows no domain and no store"},
	"op/optest":          {[]string{"op"}, "it runs what specs say, through whatever calls them"},
	"store":              {[]string{"fault"}, "the port knows neither its drivers nor who calls"},
	"idempotency":        {[]string{"store", "fault"}, "it repeats any creation and holds nothing of what is created"},
	"cache":              {nil, "it keeps values and knows nothing of them"},
	"cloudlog":           {nil, "it writes what it is given"},
	"push":               {nil, "the port knows neither its drivers nor whom a push is for"},
	"task":               {[]string{"store", "identity", "fault"}, "the document that domains share, with its pure rules"},
	"app":                {slices.Concat(domains, domainMay, []string{"cache"}), "it wires all domains, over a store that it is given"},
	"elenchus/source":    {nil, "it reads texts that it is given"},
	"elenchus/workspace": {[]string{"fault"}, "it reads files under a root, for whoever has one"},
	"store/sqlite":       {[]string{"store", "fault"}, "a driver keeps what it is told"},
	"store/firestore":    {[]string{"store", "fault"}, "a driver keeps what it is told"},
	"push/fcm":           {[]string{"push", "fault"}, "a driver sends what it is told"},
	"push/fcm/fcmtest":   {nil, "it stands in for a service elsewhere"},
	"supervise":          {nil, "it runs any program"},
	"store/emulator":     {[]string{"supervise"}, "it starts a process"},
	"store/storetest":    {[]string{"store", "fault", "store/sqlite", "store/firestore", "store/emulator"}, "tests open both drivers"},

	"domaintest": {
		[]string{"store", "store/storetest", "store/sqlite", "store/firestore", "store/emulator", "identity", "fault", "op"},
		"it opens both stores for the tests of domains, and knows none of them",
	},
	"client":          {append([]string{"op", "fault"}, domains...), "a program outside gets the domains' types and nothing that serves or stores"},
	"client/generate": {[]string{"app", "op"}, "it writes down the catalogue"},

	"rules": {nil, "it is tests alone, which may use what they like"},

	"store/emulator/cmd/withemulator": {[]string{"store/emulator"}, "a command around a process"},
}

// parts are packages below a domain that are parts of it: it may import them beside what every domain may.
var parts = map[string][]string{"elenchus": {"elenchus/source"}}

// nowhere are modules that no file of shared may import, tests included.
var nowhere = map[string]string{
	"github.com/labstack/echo":    "HTTP is the hub's",
	"github.com/mark3labs/mcp-go": "MCP is the hub's",
}

// imports lists what the files of every room import.
func imports(t *testing.T, tests bool) map[string]map[string]bool {
	t.Helper()
	rooms := map[string]map[string]bool{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || (!tests && strings.HasSuffix(file, "_test.go")) {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		room, err := filepath.Rel("..", filepath.Dir(file))
		if err != nil {
			return err
		}
		room = filepath.ToSlash(room)
		if rooms[room] == nil {
			rooms[room] = map[string]bool{}
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			rooms[room][name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rooms
}

func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	rooms := imports(t, false)
	for room, imported := range rooms {
		r, known := rules[room]
		if slices.Contains(domains, room) {
			r, known = rule{domainMay, "a domain needs another through an interface of its own alone"}, true
		}
		if !known {
			t.Errorf("%s has no row in the table: say what it may import, and why", room)
			continue
		}
		for name := range imported {
			if other, internal := strings.CutPrefix(name, module); internal && !slices.Contains(r.may, other) && !slices.Contains(parts[room], other) {
				t.Errorf("%s imports %s; it may import %q: %s", room, other, r.may, r.why)
			}
		}
	}
	for room, r := range rules {
		if rooms[room] == nil || r.why == "" {
			t.Errorf("the row of %s has no package or no reason", room)
		}
	}
}

// A program that imports the client is not to carry a database with it.
func TestTheClientReachesNoDriver(t *testing.T) {
	t.Parallel()
	rooms := imports(t, false)
	reached := []string{"client"}
	for i := 0; i < len(reached); i++ {
		for name := range rooms[reached[i]] {
			if room, internal := strings.CutPrefix(name, module); internal && !slices.Contains(reached, room) {
				reached = append(reached, room)
			}
		}
	}
	for _, room := range []string{"app", "store/sqlite", "store/firestore", "push/fcm"} {
		if slices.Contains(reached, room) {
			t.Errorf("the client imports %s by way of others", room)
		}
	}
}

func TestNoTransportIsImported(t *testing.T) {
	t.Parallel()
	for room, imported := range imports(t, true) {
		for name := range imported {
			for banned, why := range nowhere {
				if name == banned || strings.HasPrefix(name, banned+"/") {
					t.Errorf("%s imports %s: %s", room, name, why)
				}
			}
			if strings.HasPrefix(name, "parley.internal/") && !strings.HasPrefix(name, module) {
				t.Errorf("%s imports %s: shared knows no service", room, name)
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
		if room := path.Base(filepath.ToSlash(filepath.Dir(f))); !slices.Contains(domains, room) {
			t.Errorf("%s has operations and is not among the domains of New", room)
		}
	}
}
