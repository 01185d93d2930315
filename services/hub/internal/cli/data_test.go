package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley.internal/shared/app"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
)

// linesOf returns the lines of an export, decoded.
func linesOf(t *testing.T, text string) (paths map[string]map[string]any) {
	t.Helper()
	paths = map[string]map[string]any{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		var doc struct {
			Path   string
			Fields map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &doc); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		paths[doc.Path] = doc.Fields
	}
	return paths
}

func TestTheDataOfAUserIsExportedAndDeleted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sqlite", "firestore"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"PARLEY_DATA=" + t.TempDir()}
			if name == "firestore" {
				env = cloud(t)
			}
			run := func(want int, args ...string) (string, string) {
				t.Helper()
				out, errOut, code := command(t, env, args...)
				if code != want {
					t.Fatalf("%v: exit %d, %q, %q", args, code, out, errOut)
				}
				return out, errOut
			}
			p := serve(t, append(env, "PARLEY_ADDR=127.0.0.1:0"))
			keys, secrets := map[string]string{}, []string{}
			for _, user := range []string{"ann", "bob"} {
				out, _ := run(0, "key", "create", "--user", user, "--program", "alpha")
				keys[user] = strings.TrimSpace(out)
				secrets = append(secrets, keys[user])
				if a := p.call(keys[user], "POST", "/v1/tasks",
					map[string]any{"title": "of " + user, "target": "alpha"}); a.Status != 201 {
					t.Fatal(a)
				}
				if a := p.call(keys[user], "POST", "/v1/fires/"+user+"/messages",
					map[string]any{"agent": "alpha", "text": "word of " + user}); a.Status >= 500 {
					t.Fatal(a)
				}
			}
			if code := p.stop(syscall.SIGTERM); code != 0 { // which writes the ledger
				t.Fatalf("exit %d\n%s", code, p.err)
			}
			file := filepath.Join(t.TempDir(), "ann.jsonl")
			_, errOut := run(0, "export", "--user", "ann", file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			docs, tasks := linesOf(t, string(text)), 0
			for path, fields := range docs {
				if strings.HasPrefix(path, "tasks/") {
					tasks++
					if fields["title"] != "of ann" {
						t.Errorf("%v", fields)
					}
				}
			}
			if tasks != 1 || !strings.Contains(errOut, fmt.Sprintf("wrote %d documents", len(docs))) ||
				strings.Contains(string(text), "of bob") {
				t.Errorf("%d tasks, %q, %s", tasks, errOut, text)
			}
			for _, s := range secrets {
				if strings.Contains(string(text), s[strings.LastIndex(s, "_")+1:]) {
					t.Error("the export has a key's secret")
				}
			}
			if out, _ := run(0, "export", "--user", "ann"); len(linesOf(t, out)) != len(docs) {
				t.Errorf("to the terminal: %s", out)
			}
			if _, errOut := run(1, "export", "--user", "ann", file); !strings.Contains(errOut, "exists") {
				t.Errorf("an export was overwritten: %q", errOut)
			}
			if _, errOut := run(1, "delete", "--user", "ann", "--confirm", "an"); !strings.Contains(errOut,
				"nothing was deleted: repeat the user's name with --confirm ann") {
				t.Errorf("%q", errOut)
			}
			if out, _ := run(0, "delete", "--user", "ann", "--confirm", "ann", "--wait",
				"10ms"); out != fmt.Sprintf("deleted %d documents of ann\n", len(docs)) {
				t.Errorf("%q, of %d", out, len(docs))
			}
			gone := filepath.Join(t.TempDir(), "gone.jsonl")
			for _, args := range [][]string{{"export", "--user", "ann"}, {"export", "--user", "ann", gone},
				{"delete", "--user", "ann", "--confirm", "ann", "--wait", "10ms"}} {
				if out, errOut := run(1, args...); out != "" || !strings.Contains(errOut, "there is no document of a user ann") {
					t.Errorf("%v of a user who is not there: %q, %q", args, out, errOut)
				}
			}
			if _, err := os.Stat(gone); err == nil {
				t.Error("an empty export was left")
			}
			p = serve(t, append(env, "PARLEY_ADDR=127.0.0.1:0"))
			for user, want := range map[string]int{"ann": 401, "bob": 200} {
				if a := p.call(keys[user], "GET", "/v1/tasks", nil); a.Status != want ||
					(want == 200 && !strings.Contains(a.String(), "of bob")) {
					t.Errorf("%s: %s", user, a)
				}
			}
		})
	}
}

func TestBackupAndRestoreBesideARunningServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	key := makeKey(t, data, "--program", "alpha")
	p := serve(t, nil, local(data)...)
	make := func(title string) string {
		t.Helper()
		made, err := p.as(key).CreateTask(t.Context(), dispatch.CreateInput{Title: title, Target: "alpha"})
		if err != nil {
			t.Fatal(err)
		}
		return made.TaskID
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 2 { // a write may be refused with 503 during the restore
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a, err := p.try(ctx, key, "POST", "/v1/messages",
					map[string]any{"message": fmt.Sprint(n), "source": "alpha", "target": "beta",
						"message_type": "PING"})
				if err == nil && a.Status != 201 && a.Status != 503 {
					t.Errorf("a write beside it: %s", a)
				}
			}
		})
	}
	first, backup := make("first"), filepath.Join(t.TempDir(), "b.db")
	if out, errOut, code := command(t, nil, "backup", backup, "--data", data); code != 0 ||
		!strings.Contains(out, "wrote "+backup) {
		t.Fatalf("exit %d, %q, %q", code, out, errOut)
	}
	second := make("second")
	restore := func(file string) (kept string) {
		t.Helper()
		out, errOut, code := command(t, nil, "restore", file, "--data", data)
		if code != 0 || !strings.Contains(out, "restored "+file) {
			t.Fatalf("exit %d, %q, %q", code, out, errOut)
		}
		_, kept, _ = strings.Cut(strings.TrimSpace(errOut), "kept in ")
		return kept
	}
	kept := restore(backup)
	for id, want := range map[string]int{first: 200, second: 404} {
		if a := p.call(key, "GET", "/v1/tasks/"+id, nil); a.Status != want {
			t.Errorf("after the restore: %s", a)
		}
	}
	make("third")
	restore(kept)
	for _, id := range []string{first, second} {
		if a := p.call(key, "GET", "/v1/tasks/"+id, nil); a.Status != 200 {
			t.Errorf("after going back: %s", a)
		}
	}
	if a := p.call(key, "GET", "/v1/tasks?target=alpha", nil); strings.Contains(a.String(), "third") ||
		!strings.Contains(a.String(), "second") {
		t.Errorf("%s", a)
	}
	stop()
	writers.Wait()
	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"backup", backup, "--data", data}, "already exists; name another file"},
		{[]string{"restore", filepath.Join(data, "none.db"), "--data", data}, "cannot read the backup"},
		{[]string{"restore", filepath.Join(data, "parley.db"), "--data", t.TempDir()}, "make a backup of it first"},
		{[]string{"backup", backup, "--store", "firestore", "--project", "demo-p"},
			"this command needs the embedded store"},
	} {
		if out, errOut, code := command(t, nil, c.args...); code != 1 || out != "" ||
			!strings.Contains(errOut, c.words) {
			t.Errorf("%v: exit %d, %q, %q", c.args, code, out, errOut)
		}
	}
}

type filler struct {
	Body string `json:"body"`
}

// fillers replace tasks, for their number and size alone.
var fillers = store.Collection[filler]{Name: "tasks"}

// stored creates a store with n documents.
func stored(t *testing.T, file string, n int) {
	t.Helper()
	d, err := sqlite.Open(t.Context(), file, app.Schema())
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(d, app.Schema())
	for done := 0; done < n; done += 400 {
		err = errors.Join(err, db.User("ann").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			for i := done; i < min(n, done+400); i++ {
				fillers.Put(tx, fmt.Sprintf("t%06d", i), filler{strings.Repeat("x", 4000)})
			}
			return nil
		}))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// counted returns the number of documents in a store, and fails the test if the store is damaged.
func counted(t *testing.T, file string) int {
	t.Helper()
	d, err := sqlite.Open(t.Context(), file, app.Schema())
	if err != nil {
		t.Fatal(err)
	}
	n, err := d.Documents(t.Context())
	check := filepath.Join(t.TempDir(), "check.db")
	// The backup reads every page.
	if err := errors.Join(err, d.Backup(t.Context(), check), d.Restore(t.Context(), check, ""), d.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAKilledRestoreChangesNothing(t *testing.T) {
	t.Parallel()
	const few, many = 7, 6000
	data, source := t.TempDir(), t.TempDir()
	live, backup := filepath.Join(data, "parley.db"), filepath.Join(source, "b.db")
	stored(t, live, few)
	stored(t, filepath.Join(source, "parley.db"), many)
	if out, errOut, code := command(t, nil, "backup", backup, "--data", source); code != 0 {
		t.Fatalf("%q, %q", out, errOut)
	}
	undone := 0
	for later := time.Duration(0); later < 400*time.Millisecond; later += 50 * time.Millisecond {
		p := run(t, nil, "restore", backup, "--data", data)
		began := func() bool {
			found, err := filepath.Glob(filepath.Join(data, ".parley-restore-*"))
			return err != nil || len(found) > 0
		}
		for !began() { // it works on a copy, which is how its beginning is seen
			select {
			case <-p.ended:
				t.Fatalf("the restore ended before the kill: %s%s", p.out, p.err)
			case <-time.After(time.Millisecond):
			}
		}
		time.Sleep(later)
		if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		p.wait()
		switch n := counted(t, live); {
		case n == few:
			undone++
		case n != many:
			t.Fatalf("killed after %v, it left %d documents", later, n)
		default: // it was done before the kill: once more from the start
			if err := errors.Join(os.Remove(live), ignoreMissing(os.Remove(live+"-wal")),
				ignoreMissing(os.Remove(live+"-shm"))); err != nil {
				t.Fatal(err)
			}
			stored(t, live, few)
		}
	}
	if undone == 0 {
		t.Error("no kill came before the end")
	}
	if out, errOut, code := command(t, nil, "restore", backup, "--data", data); code != 0 ||
		!strings.Contains(out, fmt.Sprintf("%d documents in the place of %d", many, few)) || counted(t, live) != many {
		t.Errorf("exit %d, %q, %q", code, out, errOut)
	}
	if left, err := filepath.Glob(filepath.Join(data, ".parley-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
