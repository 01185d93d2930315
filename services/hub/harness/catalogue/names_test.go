package catalogue

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"parley.internal/shared/app"
)

// elsewhere are the hand-written files and directories that name operations of a domain they are
// no part of, each with the reason.
var elsewhere = map[string]string{
	"shared/ledger":                     "the records of calls are of certain tools",
	"shared/dream/dream_test.go":        "a dream is claimed as a task is",
	"shared/team/catalogue.go":          "a short name on the team's own endpoint is the name of another tool elsewhere",
	"shared/app/sweeps_test.go":         "the sweep of the ledger needs a record of some call",
	"shared/app/sweep_kill_test.go":     "the sweep of the ledger needs a record of some call",
	"functions/functions_test.go":       "the sweep of the ledger needs a record of some call",
	"shared/app/schema_test.go":         "the routes of the Grid service are a promise of their own, apart from goldens that anyone can renew",
	"shared/app/overview_test.go":       "the overview is a view over several domains",
	"services/hub/internal/supply":      "it supplies the files of verifications, by their tools' answers",
	"services/hub/internal/stdio":       "the bridge is tested with calls of a real catalogue",
	"services/hub/internal/cli":         "the commands are tested with calls of a real catalogue",
	"services/hub/harness/hubtest":      "races, clashes of names and words of one operation, which no spec can say",
	"services/hub/harness/mcp":          "toolsets, aliases, holes of the protocol and resources are shown with certain tools",
	"services/hub/harness/rest":         "compatible routes and errors of HTTP are shown with certain operations",
	"services/hub/harness/costs":        "the mix of calls that a month's costs are counted for",
	"services/hub/harness/chaos":        "the load that servers are killed under",
	"services/hub/harness/cmd/bench":    "the load that is measured",
	"services/hub/harness/cmd/generate": "a test that a generated page has a tool in it",
	"shared/client":                     "the client is tested with calls of a real catalogue",
}

// A new operation changes its domain and generated files alone, so nothing else may know its name.
func TestNoFileOutsideADomainNamesItsOperations(t *testing.T) {
	t.Parallel()
	const root = "../../../.."
	toolsets := map[string]string{}
	for _, o := range app.New(nil, app.Ports{}).Catalogue().Ops() {
		toolsets[o.Name] = o.Toolset
	}
	used := map[string]bool{}
	walk := func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(parsed) {
			return err
		}
		for _, name := range named(parsed, toolsets) {
			if inDomain(rel, toolsets[name]) {
				continue
			}
			if reason := allowed(rel, used); reason == "" {
				t.Errorf("%s names %s: let it read the specs, or give it a row with the reason", rel, name)
			}
		}
		return nil
	}
	for _, module := range []string{"shared", "services", "functions"} {
		if err := filepath.WalkDir(filepath.Join(root, module), walk); err != nil {
			t.Fatal(err)
		}
	}
	for row := range elsewhere {
		if !used[row] {
			t.Errorf("%s names no operation any more; its row can go", row)
		}
	}
}

// named are the operations whose names stand in a file as texts of their own.
func named(f *ast.File, toolsets map[string]string) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && toolsets[text] != "" {
				out = append(out, text)
			}
		}
		return true
	})
	return out
}

// inDomain says whether a file belongs to a domain with operations of a toolset. The overview
// belongs to the toolset of the sessions that it shows, and the steps of a domain's cases may
// prepare with another's operations.
func inDomain(file, toolset string) bool {
	dir, base := filepath.Base(filepath.Dir(file)), filepath.Base(file)
	return strings.HasPrefix(file, "shared/"+toolset+"/") || dir == "overview" || strings.HasSuffix(base, "cases.go")
}

func allowed(file string, used map[string]bool) string {
	for at := file; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
		if reason := elsewhere[at]; reason != "" {
			used[at] = true
			return reason
		}
	}
	return ""
}
