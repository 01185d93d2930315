package cli_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostileWords set a terminal's title, clear it, reorder its text and imitate a line of a command.
const hostileWords = "\x1b]0;owned\x07\u009b2J\u202e\x7f"

// quiet reports whether no character of a text controls a terminal.
func quiet(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if !isPrintable(line) {
			return false
		}
	}
	return true
}

func TestAttackTextFromFilesCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	write := func(name string, value any) string {
		t.Helper()
		text, ok := value.(string)
		if !ok {
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	write("team/config.json", map[string]any{"name": "core", "description": "d", "createdAt": 1, "leadAgentId": "lead@core",
		"leadSessionId": "s", "members": []any{map[string]any{"agentId": "lead@core", "name": "lead",
			"agentType": "lead", hostileWords: 1}}, hostileWords: map[string]any{"a": 1}})
	write("other/config.json", map[string]any{"name": hostileWords})
	runner := write("runner.json", map[string]any{hostileWords: 1})
	backup := filepath.Join(dir, "backup.db")
	raw, err := sql.Open("sqlite", backup)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), "PRAGMA user_version = 1; CREATE TABLE \""+hostileWords+"\" (a)"); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	write("keys/keys.env", "PARLEY_URL=http://127.0.0.1:1/"+hostileWords+"\nPARLEY_HUMAN_KEY=k"+hostileWords+"\n")
	for name, args := range map[string][]string{
		"unknown fields":   {"team", "import", filepath.Join(dir, "team"), "--data", data},
		"an invalid team":  {"team", "import", filepath.Join(dir, "other"), "--data", data},
		"a configuration":  {"runner", "--team", "core", "--root", dir, "--config", runner},
		"a backup":         {"restore", backup, "--data", data},
		"a keys file":      {"questions", "--data", filepath.Join(dir, "keys")},
		"a link":           {"link", "--data", filepath.Join(dir, "keys")},
		"the doctor":       {"doctor", "--data", filepath.Join(dir, "keys")},
		"the doctor, JSON": {"doctor", "--json", "--data", filepath.Join(dir, "keys")},
		"an argument":      {hostileWords},
	} {
		out, errOut, _ := inProcess(t, map[string]string{"PARLEY_KEY": "k"}, args...)
		if !quiet(out) || !quiet(errOut) || out+errOut == "" {
			t.Errorf("%s: printed %q and %q", name, out, errOut)
		}
	}
}

func TestAttackTextFromAServerCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"a fault": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			_ = json.NewEncoder(w).Encode(map[string]any{"success": false,
				"error": map[string]any{"code": "INTERNAL", "message": hostileWords, "details": []any{}}})
		},
		"a redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://h/"+hostileWords)
			w.WriteHeader(http.StatusFound)
		},
		"no JSON": func(w http.ResponseWriter) { _, _ = w.Write([]byte(hostileWords)) },
		"a question": func(w http.ResponseWriter) {
			_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "data": map[string]any{"questions": []any{
				map[string]any{"id": hostileWords, "question": hostileWords, hostileWords: hostileWords}}}})
		},
		"a view": func(w http.ResponseWriter) {
			_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "data": map[string]any{
				"sessions": []any{map[string]any{"name": hostileWords, "program": hostileWords, "status": hostileWords}},
				"unread":   []any{map[string]any{"program": hostileWords, "count": 1}}}})
		},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
		defer s.Close()
		for _, args := range [][]string{{"questions"}, {"questions", "--json"}, {"top"}, {"answer", "0123", "yes"}} {
			env := map[string]string{"PARLEY_URL": s.URL, "PARLEY_HUMAN_KEY": "k", "PARLEY_DATA": t.TempDir()}
			if out, errOut, _ := inProcess(t, env, args...); !quiet(out) || !quiet(errOut) {
				t.Errorf("%s, %v: printed %q and %q", name, args, out, errOut)
			}
		}
	}
}

func TestAttackAServerReadsFilesForTheNamedUsersAndNoSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.ts": "import './id_rsa'", "id_rsa.ts": "secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for user, want := range map[string]int{"local": 1, "ann": 0} {
		data := t.TempDir()
		p := serve(t, nil, append(local(data), "--workspace-root", dir, "--workspace-user", user)...)
		a := p.call(keysEnv(t, data)["PARLEY_KEY"], "POST", "/v1/verifications",
			map[string]any{"target": "a.ts", "requirements": "r", "workingDir": dir})
		var out struct{ Context struct{ FilesCollected int } }
		if err := a.Into(&out); err != nil || out.Context.FilesCollected != want {
			t.Errorf("for %s it collected %d files, want %d: %v, %s", user, out.Context.FilesCollected, want, err, a)
		}
	}
}

func TestAttackARefusedBackupLeavesTheDataDirectoryAsItWas(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	bad := filepath.Join(base, "bad.db")
	if err := os.WriteFile(bad, []byte("no backup"), 0o600); err != nil {
		t.Fatal(err)
	}
	stored(t, filepath.Join(base, "parley.db"), 3)
	for _, data := range []string{base, filepath.Join(base, "new"), filepath.Join(base, "far", "away")} {
		if _, errOut, code := inProcess(t, nil, "restore", bad, "--data", data); code != 1 ||
			!strings.Contains(errOut, "is not a backup of Parley") {
			t.Errorf("%s: exit %d, %q", data, code, errOut)
		}
	}
	entries, err := os.ReadDir(base)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"bad.db", "parley.db", "parley.lock"}) {
		t.Errorf("%v, %v; want the two files and the lock of who worked on them", names, err)
	}
}

func TestAttackAnExportCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	key := keysEnv(t, data)["PARLEY_KEY"]
	if a := p.call(key, "POST", "/v1/tasks", map[string]any{"title": "a\u202e\u009b2J", "target": "alpha"}); a.Status != 201 {
		t.Fatal(a)
	}
	out, errOut, code := inProcess(t, nil, "export", "--user", "local", "--data", data)
	if code != 0 || !quiet(out) || !strings.Contains(out, `"a\u202e\u009b2J"`) {
		t.Errorf("exit %d, %q, %q", code, errOut, out)
	}
}
