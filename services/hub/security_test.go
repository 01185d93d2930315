package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/executabletest"
	"parley.internal/shared/store/emulator"
)

// checker is a go command that installs a govulncheck. The variables SCAN and QUERY are the exit codes of its scan and
// of its look at the database, INSTALL and VERIFY those of go install and go mod verify.
const checker = `#!/bin/sh
case "$1" in
install)
	printf '%s\n' '#!/bin/sh' \
		'case "$*" in *query*) echo no such host; exit ${QUERY:-0} ;; esac' \
		'echo "scanned"; exit ${SCAN:-0}' >"$GOBIN/govulncheck"
	chmod +x "$GOBIN/govulncheck"; echo "403 Forbidden"; exit ${INSTALL:-0} ;;
mod) echo "verified"; exit ${VERIFY:-0} ;;
esac
`

// auditor is an npm whose audit of signatures prints NPM and exits with 1, or prints nothing.
const auditor = `#!/bin/sh
[ -z "${NPM:-}" ] || { echo "$NPM"; exit 1; }
`

// security runs .ci/security in a directory with a module and, where it is installed, a package, and returns its output
// and whether it passed.
func security(t *testing.T, installed bool, env ...string) (said string, passed bool) {
	t.Helper()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "the script needs a shell")
	}
	root := t.TempDir()
	text, err := os.ReadFile(filepath.Join(repository, ".ci", "security"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{".ci/security": string(text), "a/go.mod": "", "a/tool.mod": "", "p/package-lock.json": "",
		"stubs/go": checker, "stubs/npm": auditor}
	if installed {
		files["p/node_modules/q/package-lock.json"] = "" // a package's own lock file is not the project's
	}
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		executabletest.Write(t, name, []byte(text))
	}
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(root, ".ci", "security"), "a")
	cmd.Env = append([]string{"PATH=" + filepath.Join(root, "stubs") + ":" + os.Getenv("PATH"), "TMPDIR=" + root}, env...)
	out, err := cmd.CombinedOutput()
	if left, _ := filepath.Glob(filepath.Join(root, "tmp.*")); len(left) != 0 {
		t.Errorf("a temporary directory is left: %v", left)
	}
	return string(out), err == nil
}

func TestAFindingFailsTheSecurityChecksAndAnUnreachableServiceDoesNot(t *testing.T) {
	t.Parallel()
	const offline = `NPM={"error": {"code": "ENOTFOUND", "summary": "no such host"}}`
	for _, c := range []struct {
		name      string
		installed bool
		env       []string
		passes    bool
		says      []string
	}{
		{"all is well", true, nil, true, []string{"ok    govulncheck: a\n", "ok    go mod verify: a\n",
			"ok    go mod verify: a/tool.mod\n", "ok    npm audit signatures: p\n"}},
		{"a vulnerability", true, []string{"SCAN=3"}, false, []string{"fail  govulncheck: a calls code", "scanned"}},
		{"a scan that breaks", true, []string{"SCAN=1"}, false, []string{"fail  govulncheck: a cannot be checked", "scanned"}},
		{"no database", true, []string{"QUERY=1"}, true, []string{"skip  govulncheck: the database", "no such host"}},
		{"no govulncheck", true, []string{"INSTALL=1"}, true, []string{"skip  govulncheck: cannot be installed: 403"}},
		{"a changed module", true, []string{"VERIFY=1"}, false, []string{"fail  go mod verify: a\n"}},
		{"a forged package", true, []string{`NPM={"invalid": [{"name": "x"}], "missing": []}`}, false,
			[]string{"fail  npm audit signatures: p", "invalid"}},
		{"no signatures to be had", true, []string{offline}, true, []string{"skip  npm audit signatures: p: no such host"}},
		{"an unknown failure of npm", true, []string{"NPM=killed"}, false, []string{"fail  npm audit signatures: p"}},
		{"packages not installed", false, nil, true, []string{"skip  npm audit signatures: p: its packages are not"}},
		{"a skip where none is allowed", true, []string{offline, "REQUIRE_SECURITY=1"}, false,
			[]string{"fail  npm audit signatures: p: no such host (REQUIRE_SECURITY=1)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			said, passed := security(t, c.installed, c.env...)
			if passed != c.passes || strings.Contains(said, "p/node_modules") {
				t.Errorf("passed is %v\n%s", passed, said)
			}
			for _, want := range c.says {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
		})
	}
}
