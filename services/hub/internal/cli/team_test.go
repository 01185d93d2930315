package cli_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// filesOf returns the files below a directory, decoded from JSON without a loss of digits in numbers.
func filesOf(t *testing.T, dir string) map[string]any {
	t.Helper()
	out := map[string]any{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		dec := json.NewDecoder(strings.NewReader(string(text)))
		dec.UseNumber()
		var v any
		out[path] = &v
		return dec.Decode(&v)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAnImportedTeamIsExportedUnchanged(t *testing.T) {
	t.Parallel()
	const from = "../teamdir/testdata/core"
	env, to := map[string]string{"PARLEY_DATA": t.TempDir()}, filepath.Join(t.TempDir(), "out")
	run := func(want int, args ...string) (string, string) {
		t.Helper()
		out, errOut, code := inProcess(t, env, args...)
		if code != want {
			t.Fatalf("%v: %q, %q, exit %d", args, out, errOut, code)
		}
		return out, errOut
	}
	if out, errOut := run(0, "team", "import", from, "--program",
		"alpha"); out != "imported core: 2 members, 2 inboxes, 3 tasks\n" || errOut != "tasks from "+filepath.Join(from, "tasks")+"\n" {
		t.Errorf("%q, %q", out, errOut)
	}
	if out, _ := run(0, "team", "export", "core", to); out != "exported core: 2 members, 2 inboxes, 3 tasks\n" {
		t.Errorf("%q", out)
	}
	if got, want := filesOf(t, to), filesOf(t, from); !reflect.DeepEqual(got, want) {
		for name := range want {
			if !reflect.DeepEqual(got[name], want[name]) {
				text, _ := os.ReadFile(filepath.Join(to, name))
				t.Errorf("%s came back as\n%s", name, text)
			}
		}
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for _, c := range []struct {
		words string
		args  []string
	}{
		{"Team 'core' already exists", []string{"team", "import", from}},
		{"Session already has active team: core. One team per session.",
			[]string{"team", "import", from, "--program", "alpha"}},
		{"must be empty or missing", []string{"team", "export", "core", to}},
		{"Team none does not exist", []string{"team", "export", "none", filepath.Join(to, "none")}},
		{"config.json: no such file", []string{"team", "import", filepath.Join(to, "none")}},
		{"--program must be 1 to 100 letters", []string{"team", "import", from, "--program", "a b"}},
	} {
		if _, errOut := run(1, c.args...); !strings.Contains(errOut, c.words) {
			t.Errorf("%v: %q", c.args, errOut)
		}
	}
}
