//go:build unix

package launch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley.internal/services/hub/internal/runner/launch"
)

const patience = 40 * time.Second

// roleVariable makes this binary run as a starter that a test kills.
const roleVariable = "LAUNCH_TEST_ROLE"

// This binary is also the program that waits for a job, and the starter of one.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "child":
		fmt.Println(launch.Child())
		os.Exit(1)
	case os.Getenv(roleVariable) == "start":
		w, err := launch.Start([]string{os.Args[0], "child"}, os.Stdout)
		fmt.Println("starts", err == nil)
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		w.Drop()
		os.Exit(0)
	case os.Getenv(roleVariable) == "protect":
		err := launch.Protect()
		state, stateErr := dumpable()
		fmt.Println(state, err, stateErr)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// wait starts a process that waits for its job, with its output on a pipe.
func wait(t *testing.T) (*launch.Waiting, *bufio.Reader) {
	t.Helper()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	t.Cleanup(func() { _ = r.Close() })
	_ = r.SetReadDeadline(time.Now().Add(patience))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := launch.Start([]string{self, "child"}, out)
	if err != nil {
		t.Fatal(err)
	}
	return w, bufio.NewReader(r)
}

// job returns a job that runs a shell command in a new directory.
func job(t *testing.T, line string) launch.Job {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return launch.Job{Path: "/bin/sh", Args: []string{"sh", "-c", line}, Env: []string{"A=b\xff"}, Dir: dir, Root: dir}
}

func TestAWaitingProcessRunsItsJobUnderItsPID(t *testing.T) {
	t.Parallel()
	open, err := syscall.Dup(1) // as a parent of the runner may leave open
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(open)
	w, out := wait(t)
	j := job(t, `echo $$ "$A"; pwd; ls /dev/fd/ | tr '\n' ' '; exit 3`)
	p, err := w.Become(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	want := fmt.Sprintf("%d b\xff\n%s\n", w.PID, j.Dir)
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("got %q, %v; want %q", text, err, want)
	}
	// It has the standard streams, and the directory that is listed.
	if fds, ok := strings.CutPrefix(string(text), want); !ok || fds != "0 1 2 3 " {
		t.Errorf("it has the descriptors %q", fds)
	}
	if exit := p.Exit(); exit.Code == nil || *exit.Code != 3 || exit.Signal != "" || p.PID != w.PID ||
		p.StartedAt != w.StartedAt || len(p.StartedAt) > 100 || p.StartedAt == "" {
		t.Errorf("got %+v of %+v", exit, p)
	}
}

func TestAWaitingProcessEndsWithItsStarter(t *testing.T) {
	t.Parallel()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdout = append(os.Environ(), roleVariable+"=start"), out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	_ = r.SetReadDeadline(time.Now().Add(patience))
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); err != nil || line != "starts true\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	// The output is closed at its end.
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != "the runner ended before it sent the job\n" {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestADroppedProcessNeverRunsItsJob(t *testing.T) {
	t.Parallel()
	w, out := wait(t)
	w.Drop()
	if rest, err := io.ReadAll(out); err != nil || strings.Contains(string(rest), "$") {
		t.Errorf("got %q, %v", rest, err)
	}
	if _, lives := launch.Adopt(w.PID, w.StartedAt, time.Hour); lives {
		t.Error("it lives")
	}
}

func TestAProcessThatCannotRunItsJobEndsWithAnError(t *testing.T) {
	t.Parallel()
	good := job(t, "echo ran")
	outside := filepath.Join(good.Root, "outside")
	// A directory that was replaced by a link after it was checked.
	if err := os.Symlink("/", outside); err != nil {
		t.Fatal(err)
	}
	for words, change := range map[string]func(*launch.Job){
		"cannot run /bin/no-such: no such file or directory": func(j *launch.Job) { j.Path = "/bin/no-such" },
		"cannot run /bin: permission denied":                 func(j *launch.Job) { j.Path = "/bin" },
		"must be at or below the root " + good.Root:          func(j *launch.Job) { j.Dir = outside },
		"cannot enter the working directory":                 func(j *launch.Job) { j.Dir += "/none" },
		"argument list too long": func(j *launch.Job) {
			j.Args = append(j.Args, strings.Repeat("a", 4<<20))
		},
	} {
		w, out := wait(t)
		j := good
		j.Args = slices.Clone(j.Args)
		change(&j)
		_, err := w.Become(t.Context(), j)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q", err, words)
		}
		if rest, err := io.ReadAll(out); err != nil || strings.Contains(string(rest), "ran\n") {
			t.Errorf("%s: it wrote %q, %v", words, rest, err)
		}
		select {
		case <-w.Exited():
		default:
			t.Errorf("%s: it lives", words)
		}
	}
}

func TestAProcessEndsIfItsContextEndsMeanwhile(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	cancel(because)
	w, out := wait(t)
	if _, err := w.Become(ctx, job(t, "exec sleep 1000")); err == nil {
		t.Error("it became its job")
	}
	if _, err := io.ReadAll(out); err != nil {
		t.Error(err)
	}
	<-w.Exited()
}

func TestOnlyARunningProcessWithTheStartTimeIsAdopted(t *testing.T) {
	t.Parallel()
	w, out := wait(t)
	p, err := w.Become(t.Context(), job(t, "exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	for _, startedAt := range []string{"", "then", p.StartedAt + "0"} {
		if _, lives := launch.Adopt(p.PID, startedAt, time.Hour); lives {
			t.Errorf("%q was adopted", startedAt)
		}
		// The group of another process with the same PID is not ended either.
		if err := launch.EndGroup(p.PID, startedAt, 0); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Kill(p.PID, 0); err != nil {
		t.Fatalf("another's was ended: %v", err)
	}
	again, lives := launch.Adopt(p.PID, p.StartedAt, time.Millisecond)
	if !lives {
		t.Fatal("it was not found again")
	}
	if err := again.End(patience); err != nil {
		t.Error(err)
	}
	if exit := again.Exit(); exit != (launch.Exit{}) {
		t.Errorf("got %+v of what nobody saw", exit)
	}
	if exit := p.Exit(); exit.Signal != "SIGTERM" {
		t.Errorf("got %+v", exit)
	}
	if _, err := io.ReadAll(out); err != nil {
		t.Error(err)
	}
	if _, lives := launch.Adopt(p.PID, p.StartedAt, time.Hour); lives {
		t.Error("the dead was adopted")
	}
}

func TestTheExitOfAnAdoptedProcessIsNoticed(t *testing.T) {
	t.Parallel()
	w, out := wait(t)
	p, err := w.Become(t.Context(), job(t, "exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	again, lives := launch.Adopt(p.PID, p.StartedAt, time.Millisecond)
	if !lives {
		t.Fatal("it was not found again")
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := p.Exit(); exit.Signal != "SIGKILL" {
		t.Errorf("got %+v", exit)
	}
	again.Exit()
	if _, err := io.ReadAll(out); err != nil {
		t.Error(err)
	}
}

func TestFindSearchesTheAbsoluteDirectoriesOfThePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	for name, mode := range map[string]os.FileMode{"tool": 0o700, "text": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(wd, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, want string
	}{
		{"tool", "/none:" + dir, tool}, {"tool", "", ""}, {"tool", relative, ""}, {"tool", ":.", ""}, {"text", dir, ""},
		{"dir", dir, ""}, {"none", dir, ""},
		{tool, "", tool}, {dir + "/text", "", ""}, {dir + "/none", "", ""},
	} {
		if got, ok := launch.Find(c.name, c.path); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s in %q: got %q, %v; want %q", c.name, c.path, got, ok, c.want)
		}
	}
}

func TestChildRefusesOtherParents(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(os.Args[0], "child").CombinedOutput()
	if err == nil || string(out) != "only `parley runner` may run this command\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestAJobReadsItsStandardInputFromAFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"in": "words\n", "none": ""} {
		w, out := wait(t)
		j := job(t, "cat; test ! -e /dev/fd/3 && echo closed")
		j.Env = []string{"PATH=/usr/bin:/bin"}
		if err := os.WriteFile(filepath.Join(j.Dir, "in"), []byte("words\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		j.Stdin = filepath.Join(j.Dir, name)
		_, err := w.Become(t.Context(), j)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "no such file or directory") {
				t.Errorf("a file that is missing: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); err != nil || line != want {
			t.Errorf("got %q, %v", line, err)
		}
		w.Exit()
	}
}
