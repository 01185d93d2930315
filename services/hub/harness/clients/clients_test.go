package clients

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/app"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/storetest"
)

// need skips the test where Node is not to be used, and fails it where the packages are missing.
func need(t *testing.T, programs ...string) {
	t.Helper()
	if os.Getenv("PARLEY_NO_NODE") == "1" {
		emulator.Skip(t, "PARLEY_NO_NODE=1")
	}
	if _, err := os.Stat(filepath.Join("node_modules", "openapi-typescript")); err != nil {
		t.Fatalf("the generators must be installed (run make proof): %v", err)
	}
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			emulator.Skip(t, name+" is missing: install it to test its client")
		}
	}
}

// done runs a program in a directory and returns its output.
func done(t *testing.T, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		trouble := ""
		if e, ok := err.(*exec.ExitError); ok {
			trouble = string(e.Stderr)
		}
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, trouble)
	}
	return out
}

// said is the output of the programs in testdata.
type said struct {
	TaskID, Answer, Refused, Wrong, Nobody string
	Listed, Fields                         []string
	Token, Status                          int
}

func TestTheClientOfEachLanguageHasTheTypesOfTheDocumentAndMakesRealCalls(t *testing.T) {
	t.Parallel()
	need(t, "node", "python3")
	modules, err := filepath.Abs("node_modules")
	hubtest.Must(t, err)
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	document := hub.Raw(http.MethodGet, "/openapi.json", nil)
	dir := t.TempDir()
	file := filepath.Join(dir, "openapi.json")
	hubtest.Must(t, os.WriteFile(file, document.Body, 0o600))
	done(t, ".", nil, "node", "generate.mjs", file, dir)

	for language, run := range map[string]func(t *testing.T, dir string, env []string) []byte{
		"typescript": func(t *testing.T, dir string, env []string) []byte {
			done(t, dir, nil, "node", filepath.Join(modules, "typescript", "bin", "tsc"), "-p", ".")
			return done(t, dir, env, "node", "try.js")
		},
		"python": func(t *testing.T, dir string, env []string) []byte {
			done(t, dir, nil, "node", filepath.Join(modules, "pyright", "index.js"), "--pythonversion", "3.9", "try.py")
			return done(t, dir, env, "python3", "try.py")
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			extension := map[string]string{"typescript": ".ts", "python": ".py"}[language]
			text, err := os.ReadFile(filepath.Join("testdata", "try"+extension))
			hubtest.Must(t, err)
			hubtest.Must(t, os.WriteFile(filepath.Join(dir, language, "try"+extension), text, 0o600))
			// Each language is a user of its own.
			env := []string{"PARLEY_URL=" + hub.URL + "/mcp", "ALPHA=" + hub.Agent(language, "alpha"), "BETA=" + hub.Agent(language, "beta"),
				"HUMAN=" + hub.Human(language), "PYTHONDONTWRITEBYTECODE=1"}
			out := run(t, filepath.Join(dir, language), env)
			var got said
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got.TaskID == "" || !slices.Equal(got.Listed, []string{got.TaskID}) || got.Token != 1 || got.Answer != "yes" {
				t.Errorf("the calls gave %s", out)
			}
			if got.Refused != "FORBIDDEN" || got.Wrong != "INVALID_ARGUMENT" || len(got.Fields) != 1 ||
				got.Nobody != "UNAUTHENTICATED" || got.Status != 401 {
				t.Errorf("the refusals gave %s", out)
			}
		})
	}
}
