package teamdir_test

import (
	"bytes"
	"encoding/json"
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
	a, from, err := teamdir.Read(dir)
	if err != nil || len(a.Tasks) != 4 || len(a.Inboxes) != 2 || len(a.Members) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	if !slices.Equal(from.Ignored, []string{"tasks/11.json: createdAt"}) ||
		!slices.Equal(from.Tasks, []string{filepath.Join(dir, "tasks")}) {
		t.Errorf("%+v", from)
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

// home copies the team in testdata to teams/core of a directory, and its tasks to tasks/core beside that.
func home(t *testing.T, more map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for from, to := range map[string]string{"testdata/core/inboxes": "teams/core/inboxes", "testdata/core/tasks": "tasks/core"} {
		if err := os.CopyFS(filepath.Join(root, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("testdata/core/config.json")
	if err != nil {
		t.Fatal(err)
	}
	more["teams/core/config.json"] = string(text)
	for name, text := range more {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTheTasksOfATeamMayBeBesideIt(t *testing.T) {
	t.Parallel()
	root := home(t, map[string]string{"teams/core/tasks/77.json": `{"id":"77","status":"pending"}`,
		"tasks/other/5.json": `{"id":"5","status":"pending"}`})
	for _, dir := range []string{filepath.Join(root, "teams", "core"), filepath.Join(root, "teams", "core") + "/"} {
		a, from, err := teamdir.Read(dir)
		if err != nil || len(a.Tasks) != 4 || len(from.Tasks) != 2 || filepath.Clean(from.Tasks[1]) != filepath.Join(root, "tasks", "core") {
			t.Errorf("%d tasks from %q, %v", len(a.Tasks), from.Tasks, err)
		}
	}
	both := home(t, map[string]string{"teams/core/tasks/1.json": `{"id":"1","status":"pending"}`})
	if _, _, err := teamdir.Read(filepath.Join(both, "teams", "core")); err == nil || !strings.Contains(err.Error(), "has a task 1 too") {
		t.Error(err)
	}
}

func TestExplicitNullsComeBack(t *testing.T) {
	t.Parallel()
	const (
		config = `{"name":"core","description":null,"createdAt":1,"leadAgentId":"l","leadSessionId":"s","members":[` +
			`{"agentId":"team-lead@core","name":"team-lead","agentType":"team-lead","model":null,"prompt":null,"joinedAt":1,` +
			`"tmuxPaneId":"","cwd":"","subscriptions":null}]}`
		inbox = `[{"from":"a","text":"<t>","timestamp":"x","read":false,"summary":null,"color":null},` +
			`{"from":"a","text":"t","timestamp":"x","read":true}]`
		task = `{"id":"11","subject":"s","description":"","activeForm":null,"status":"pending","blocks":[],"blockedBy":[],` +
			`"owner":null,"metadata":{"k":null}}`
	)
	dir := copied(t, map[string]string{"config.json": config, "inboxes/tester.json": inbox, "tasks/11.json": task})
	a, _, err := teamdir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "out")
	if err := teamdir.Write(to, a); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"config.json": config, "inboxes/tester.json": inbox, "tasks/11.json": task} {
		text, err := os.ReadFile(filepath.Join(to, name))
		var got bytes.Buffer
		if err != nil || json.Compact(&got, text) != nil || got.String() != want {
			t.Errorf("%s is %s, want %s", name, got.String(), want)
		}
	}
	a.Description, a.Tasks[1].Owner = "now", "tester"
	a.Tasks[0], a.Tasks[1] = a.Tasks[1], a.Tasks[0]
	second := filepath.Join(t.TempDir(), "out")
	if err := teamdir.Write(second, a); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(second, "config.json")); err != nil || !strings.Contains(string(text), `"description": "now"`) {
		t.Errorf("%s, %v", text, err)
	}
}
