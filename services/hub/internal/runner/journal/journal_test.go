//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/runner/journal"
)

func open(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // the test may have closed it
	return j
}

func TestARecordLastsUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	j := open(t, dir)
	a := journal.Record{ProcessID: "a.1", Name: "w"}
	b := journal.Record{ProcessID: "b", Name: "w", PID: 7, StartedAt: "then", LogFile: j.Log("w"), Told: true,
		End: []byte(`{"state":"exited"}`)}
	for _, r := range []journal.Record{a, {ProcessID: "b", PID: 1}, b, {ProcessID: "c"}} {
		if err := j.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time it is gone
		if err := j.Remove("c"); err != nil {
			t.Error(err)
		}
	}
	// An unfinished file of a killed runner is ignored.
	if err := os.WriteFile(filepath.Join(dir, "processes", "d.json.new"), []byte(`{"processId`), 0o600); err != nil {
		t.Fatal(err)
	}
	id := j.ID()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir)
	if all, err := j.All(); err != nil || !reflect.DeepEqual(all, []journal.Record{a, b}) {
		t.Errorf("got %+v, %v", all, err)
	}
	if j.ID() != id || id == "" || open(t, t.TempDir()).ID() == id {
		t.Errorf("the id is %q, it was %q", j.ID(), id)
	}
	for _, name := range []string{"runner", "lock", filepath.Join("processes", "a.1.json")} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestASecondRunnerIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	_, err := journal.Open(dir)
	if want := "another runner (PID " + strconv.Itoa(os.Getpid()) + ") uses the state directory " + dir; err == nil ||
		!strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "stop that runner, or choose another directory with --state") {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := j.Put(journal.Record{ProcessID: "a"}); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	open(t, dir)
}

func TestAnUnreadableRecordIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	for _, text := range []string{"", "{}", `{"processId":"b"}`} {
		if err := os.WriteFile(filepath.Join(dir, "processes", "a.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := j.All(); err == nil || !strings.Contains(err.Error(), "a.json must be the record of a process") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runner"), []byte("me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(dir); err == nil || !strings.Contains(err.Error(), "must contain a runner's ID") {
		t.Error(err)
	}
}

func TestAFullDiskLeavesTheFormerRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	if err := j.Put(journal.Record{ProcessID: "a", PID: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(dir, "processes", "a.json.new")); err != nil {
		t.Fatal(err)
	}
	if err := j.Put(journal.Record{ProcessID: "a", PID: 2}); err == nil ||
		!strings.HasPrefix(err.Error(), "cannot write the journal: ") ||
		!strings.Contains(err.Error(), "no space left on device") {
		t.Error(err)
	}
	if all, err := j.All(); err != nil || len(all) != 1 || all[0].PID != 1 {
		t.Errorf("got %+v, %v", all, err)
	}
}

func TestAnIDThatIsNotAValidFileNameIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, filepath.Join(dir, "state"))
	outside := filepath.Join(dir, "x.json")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", ".", "..", "../../x", "a/b", "a\x00", ".hidden", strings.Repeat("a", 101)} {
		if err := j.Put(journal.Record{ProcessID: id}); err == nil {
			t.Errorf("%q was put", id)
		}
		if err := j.Remove(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestThePrivateDirectoryOfAStartEndsWithItsRecord(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	for range 2 { // the second start finds nothing of the first
		dir, err := j.Private("a.1")
		if err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("it has %v, %v", left, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("got %v, %v", info, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "prompt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Remove("a.1"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(j.PrivateDir("a.1")); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
	if _, err := j.Private("../a"); err == nil {
		t.Error("an ID that is no name was taken")
	}
}
