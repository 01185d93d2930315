package teamdir_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/teamdir"
)

// copied returns a copy of the team in testdata with more files.
func copied(t *testing.T, more map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/core")); err != nil {
		t.Fatal(err)
	}
	for name, text := range more {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOtherFilesAndUnknownFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	dir := copied(t,
		map[string]string{"tasks/.lock": "", "tasks/notes.txt": "x", "inboxes/.x.json": "{",
			"tasks/11.json": `{"id":"11","subject":"s","description":"","activeForm":"","status":"pending",` +
				`"blocks":[],"blockedBy":[],"createdAt":1,"metadata":{"anything":{"goes":1}}}`})
	a, ignored, err := teamdir.Read(dir)
	if err != nil || len(a.Tasks) != 4 || len(a.Inboxes) != 2 || len(a.Members) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	if !slices.Equal(ignored, []string{"tasks/11.json: createdAt"}) {
		t.Errorf("%q", ignored)
	}
}

func TestAnInvalidFileIsNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, text, words string
	}{
		"not JSON":         {"tasks/1.json", "{", "tasks/1.json: unexpected EOF"},
		"another shape":    {"inboxes/tester.json", `{"from":"x"}`, "inboxes/tester.json: json: cannot unmarshal"},
		"a number as text": {"config.json", `{"name":1}`, "config.json: json: cannot unmarshal number"},
		"two values":       {"config.json", `{"name":"a"}{}`, "config.json: must hold one JSON value"},
		"another id": {"tasks/7.json", `{"id":"8"}`,
			`tasks/7.json: the id must match the file name, not be "8"`},
		"an empty inbox file": {"inboxes/tester.json", "", "inboxes/tester.json: EOF"},
		"blocks that are not strings": {"tasks/1.json", `{"id":"1","blocks":[1]}`,
			"tasks/1.json: json: cannot unmarshal"},
	} {
		dir := copied(t, map[string]string{tc.file: tc.text})
		if _, _, err := teamdir.Read(dir); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), tc.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := teamdir.Read(t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "config.json: no such file") {
		t.Errorf("no team at all: %v", err)
	}
}

func TestWriteRefusesADirectoryWithFiles(t *testing.T) {
	t.Parallel()
	a, _, err := teamdir.Read("testdata/core")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	if err := teamdir.Write(dir, a); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "inboxes", "tester.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := teamdir.Write(dir, a); err == nil || !strings.Contains(err.Error(), "must be empty or missing") {
		t.Errorf("%v", err)
	}
}
