package emulator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const helperVariable = "EMULATOR_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		starter()
		return
	}
	os.Exit(m.Run())
}

// starter is the main function of the process that a test ends. It starts an emulator, prints its address and waits.
func starter() {
	e, err := Start(context.Background())
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("at " + e.Addr + "\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if os.Getenv(helperVariable) == "stop" {
		e.Stop()
	}
}

// environment returns the environment of this process without an emulator.
func environment(extra ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, Variable+"=") {
			env = append(env, v)
		}
	}
	return append(env, extra...)
}

// verdict is a test that notes how it was ended.
type verdict struct {
	testing.TB
	how, why string
}

func (v *verdict) Helper()         {}
func (v *verdict) Skip(why ...any) { v.how, v.why = v.how+"skipped", fmt.Sprint(why...) }
func (v *verdict) Fatal(why ...any) {
	v.how, v.why = v.how+"failed", fmt.Sprint(why...)
	runtime.Goexit()
}

func TestASkippedTestFailsWhereEverythingIsRequired(t *testing.T) {
	for value, want := range map[string]string{"": "skipped", "0": "skipped", "1": "failed"} {
		t.Setenv(RequireVariable, value)
		v, ended := &verdict{}, make(chan struct{})
		go func() {
			defer close(ended)
			Skip(v, "no ", "program")
		}()
		<-ended
		if v.how != want || v.why != "no program" {
			t.Errorf("with %q it is %s because of %q, want %s", value, v.how, v.why, want)
		}
	}
}

func mustHaveJar(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("java"); err != nil || gcloudJar(t.Context()) == "" {
		Skip(t, "gcloud's emulator is not on this machine")
	}
}

func TestAnEmulatorEndsWithTheProcessThatStartedIt(t *testing.T) {
	t.Parallel()
	mustHaveJar(t)
	// The pipe that ends the emulator closes with its process, however that ends; the tests of supervise end one in each way.
	for _, tc := range []struct {
		name, helper string
		end          func(*exec.Cmd, io.Closer) error
	}{
		{"after Stop", "stop", func(_ *exec.Cmd, in io.Closer) error { return in.Close() }},
		{"after kill -9", "exit", func(c *exec.Cmd, _ io.Closer) error { return c.Process.Kill() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = environment(helperVariable + "=" + tc.helper)
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			addr, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
			if !ok {
				t.Fatalf("the helper said %q, %v", line, err)
			}
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := tc.end(cmd, in); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			// The connection ends when the emulator does.
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the emulator at %s lives on", addr)
			}
		})
	}
}

func TestStartUsesTheEmulatorOfTheEnvironment(t *testing.T) {
	t.Setenv(Variable, "elsewhere:1234")
	e, err := Start(t.Context())
	if err != nil || e.Addr != "elsewhere:1234" {
		t.Fatalf("Start() = %+v, %v", e, err)
	}
	e.Stop()
}

func TestWithoutAnEmulatorTheErrorSaysHowToInstallOne(t *testing.T) {
	t.Setenv(Variable, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.Context()); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "gcloud components install") {
		t.Errorf("Start() = %v", err)
	}
}

func TestEachProjectIsUnique(t *testing.T) {
	a, b := Project(t), Project(t)
	if a == b || !strings.HasPrefix(a, "demo-") {
		t.Errorf("Project() = %s, then %s", a, b)
	}
}

func TestWithemulatorRunsACommandWithAnEmulator(t *testing.T) {
	t.Parallel()
	mustHaveJar(t)
	bin := t.TempDir() + "/withemulator"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/withemulator").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), bin, "--", "sh", "-c",
		`echo "$`+Variable+`"; trap 'exit 7' TERM; kill -TERM $PPID; while :; do read -r _; done`)
	cmd.Env = environment()
	in, _ := cmd.StdinPipe()
	defer in.Close()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("the command must end with 7 on a signal: %v\n%s", err, out)
	}
	if conn, err := net.Dial("tcp", strings.TrimSpace(string(out))); err == nil {
		conn.Close()
		t.Errorf("the emulator at %s lives on", out)
	}
}

// send sends JSON to the emulator and returns the status of the response.
func send(t *testing.T, method, url, body string, header ...string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func TestAPrivateEmulatorCallsFunctionsAndAppliesRules(t *testing.T) {
	mustHaveJar(t)
	t.Setenv(Variable, "elsewhere:1234")
	told := make(chan string, 10)
	functions := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.URL.Path }))
	defer functions.Close()
	rules := filepath.Join(t.TempDir(), "firestore.rules")
	const text = `service cloud.firestore { match /databases/{d}/documents { match /open/{id} { allow read; } } }`
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := StartWith(t.Context(), Options{Functions: strings.TrimPrefix(functions.URL, "http://"), Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	project := Project(t)
	triggers := "http://" + e.Addr + "/emulator/v1/projects/" + project + "/eventarcTrigger"
	if status := send(t, http.MethodPost, triggers+"?eventarcTriggerId=OnOpen",
		`{"eventType":"google.cloud.firestore.document.v1.created","database":"(default)","namespace":"(default)",`+
			`"document":{"value":"open/{id}","matchType":"PATH_PATTERN"}}`); status != http.StatusOK {
		t.Fatalf("a trigger is answered %d", status)
	}
	documents := "http://" + e.Addr + "/v1/projects/" + project + "/databases/(default)/documents"
	for path, want := range map[string]int{"/open/d": http.StatusOK, "/closed/d": http.StatusForbidden} {
		status := send(t, http.MethodPatch, documents+path, `{"fields":{}}`, "Authorization: Bearer owner")
		if status != http.StatusOK {
			t.Fatalf("writing %s is answered %d", path, status)
		}
		if status := send(t, http.MethodGet, documents+path, ""); status != want {
			t.Errorf("reading %s is answered %d", path, status)
		}
	}
	if path := <-told; path != "/functions/projects/"+project+"/triggers/OnOpen" {
		t.Errorf("the function called is %s", path)
	}
}

func TestAPrivateEmulatorRequiresGcloud(t *testing.T) {
	t.Setenv(Variable, "elsewhere:1234")
	t.Setenv("PATH", t.TempDir())
	if _, err := StartWith(t.Context(), Options{}); !errors.Is(err, ErrNone) {
		t.Errorf("StartWith() = %v", err)
	}
}
