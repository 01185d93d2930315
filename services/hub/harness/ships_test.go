package harness_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is the root of the repository, where the modules are.
const repository = "../../.."

// shipped are the packages that are built for users, by the directory of their module.
var shipped = map[string][]string{
	"services/hub": {"parley.internal/services/hub", "parley.internal/services/hub/cmd/parley-hook"},
	"functions":    {"parley.internal/functions", "parley.internal/functions/cmd/local"},
}

// tools are the other programs of the modules that ship: they run on a developer's machine.
var tools = []string{
	"parley.internal/functions/cmd/emulator",
	"parley.internal/functions/cmd/package",
	"parley.internal/shared/client/generate",
	"parley.internal/shared/store/emulator/cmd/withemulator",
	"parley.internal/shared/push/webpush/cmd/vapid",
}

const harness = "parley.internal/services/hub/harness"

// testOnly are the packages, with all below them, that only tests and tools may use.
var testOnly = []string{
	harness,
	"parley.internal/shared/domaintest",
	"parley.internal/shared/op/optest",
	"parley.internal/shared/passkeys/softkey",
	"parley.internal/shared/push/fcm/fcmtest",
	"parley.internal/shared/store/emulator",
	"parley.internal/shared/store/storetest",
	"parley.internal/shared/supervise",
	"parley.internal/services/hub/internal/hook/hooktest",
	"parley.internal/services/hub/internal/stdio/stdiotest",
	"parley.internal/functions/internal/archive",
	"parley.internal/functions/internal/shim",
	"parley.internal/functions/internal/stack",
	"github.com/chromedp",
	"github.com/getkin/kin-openapi",
	"go.uber.org/goleak",
	"net/http/httptest",
	"testing", // finds packages of test support that are not listed here
}

// within reports whether a package is the other one or below it.
func within(name, other string) bool {
	return name == other || strings.HasPrefix(name, other+"/")
}

// list runs go list in a module, without the workspace, and returns the lines that it printed.
func list(t *testing.T, module string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = filepath.Join(repository, filepath.FromSlash(module))
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	if err != nil {
		t.Fatalf("go list in %s: %v", module, err)
	}
	return strings.Fields(string(out))
}

func TestNothingThatShipsNeedsATestPackage(t *testing.T) {
	t.Parallel()
	// The programs that run under the conformance suite and the benchmark are built with tags.
	for _, tags := range []string{"", "conformance,parleybench"} {
		for module, programs := range shipped {
			deps := list(t, module, append([]string{"-deps", "-tags", tags}, programs...)...)
			if !slices.Contains(deps, "parley.internal/shared/app") {
				t.Fatalf("%s: the list of %d packages is incomplete", module, len(deps))
			}
			for _, dep := range deps {
				for _, banned := range testOnly {
					if within(dep, banned) {
						t.Errorf("%s ships with %s, which is for tests and tools (tags %q)", module, dep, tags)
					}
				}
			}
		}
	}
}

// cloudOnly are the modules, by their beginnings, that the program for a laptop does without. They are more than half
// of the code that a first build downloads and compiles.
var cloudOnly = []string{"cloud.google.com", "firebase.google.com", "github.com/googleapis", "go.opentelemetry.io",
	"golang.org/x/oauth2", "google.golang.org"}

func TestTheProgramForALaptopDoesWithoutTheClientsOfTheCloud(t *testing.T) {
	t.Parallel()
	const hub = "services/hub"
	whole := list(t, hub, "-deps", shipped[hub][0])
	laptop := list(t, hub, append([]string{"-deps", "-tags", "laptop"}, shipped[hub]...)...)
	for _, root := range cloudOnly {
		with := func(deps []string) bool {
			return slices.ContainsFunc(deps, func(dep string) bool { return within(dep, root) })
		}
		if !with(whole) {
			t.Errorf("the whole program has no package of %s any more: take it out of the list", root)
		}
		if with(laptop) {
			t.Errorf("the program for a laptop links a package of %s: let parley.internal/services/hub/internal/cloud "+
				"alone import it", root)
		}
	}
}

func TestNoOtherModuleImportsTheHarness(t *testing.T) {
	t.Parallel()
	for _, module := range []string{"shared", "services/hub", "functions"} {
		for _, m := range list(t, module, "-m", "all") {
			if m == harness {
				t.Errorf("%s requires the harness", module)
			}
		}
		const imports = `{{join .Imports "\n"}}{{"\n"}}{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}`
		for _, name := range list(t, module, "-f", imports, "./...") {
			if within(name, harness) {
				t.Errorf("a package of %s imports %s", module, name)
			}
		}
	}
}

func TestEveryProgramShipsOrIsATool(t *testing.T) {
	t.Parallel()
	var found []string
	for _, module := range []string{"shared", "services/hub", "functions"} {
		found = append(found, list(t, module, "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./...")...)
	}
	for _, name := range found {
		ships := slices.Contains(slices.Concat(shipped["services/hub"], shipped["functions"]), name)
		if ships == slices.Contains(tools, name) {
			t.Errorf("%s must be listed either in shipped or in tools", name)
		}
	}
	for _, name := range tools {
		if !slices.Contains(found, name) {
			t.Errorf("%s must be a program", name)
		}
	}
}

func TestEveryListedTestPackageExists(t *testing.T) {
	t.Parallel()
	for _, name := range testOnly {
		dir, ours := strings.CutPrefix(name, "parley.internal/")
		if _, err := os.Stat(filepath.Join(repository, filepath.FromSlash(dir))); ours && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
