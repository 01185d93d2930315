package program_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/program"
	"parley.internal/shared/supervise"
)

// repository is the root of the repository, where the Makefile is.
const repository = "../../../.."

// asks are variables that ask for features of the whole program alone, with the setting that its absence is blamed on.
var asks = []struct{ variable, setting string }{
	{"PARLEY_STORE=firestore", "--store firestore"},
	{"PARLEY_FIREBASE_PROJECT=demo-parley", "--firebase-project"},
	{"PARLEY_FCM_PROJECT=demo-parley", "--fcm-project"},
	{"PARLEY_FCM_ENDPOINT=http://127.0.0.1:9/v1", "--fcm-endpoint"},
	{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
}

func TestTheProgramForALaptopServesTheEmbeddedStoreAndNoCloud(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file, data := filepath.Join(home, "parley"), filepath.Join(home, "data")
	if err := program.Build(t.Context(), file, "laptop"); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PARLEY_KEYRING=off", "GOOGLE_CLOUD_PROJECT=demo-parley"}
	log := &supervise.Output{}
	server, err := supervise.Server{Path: "/v1/health", Status: http.StatusOK, Env: env, Output: log, Grace: 20 * time.Second,
		Args: func(addr string) []string { return []string{file, "serve", "--addr", addr, "--data", data} }}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text, err := run(t, file, env, "doctor", "--data", data); err != nil {
		t.Errorf("the doctor of a laptop: %v\n%s", err, text)
	}
	server.Stop()
	if code, known := server.ExitCode(); code != 0 || !known {
		t.Errorf("the server ended with %d (known: %v)\n%s", code, known, log)
	}
	refused := func(setting, text string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(text, setting+" needs the whole program") || !strings.Contains(text, "run make build") {
			t.Errorf("%s: %v\n%s", setting, err, text)
		}
	}
	for _, a := range asks {
		text, err := run(t, file, append([]string{a.variable}, env...), "serve", "--addr", "127.0.0.1:0", "--data", data)
		refused(a.setting, text, err)
	}
	for _, command := range []string{"doctor", "key list --user local"} {
		text, err := run(t, file, env, append(strings.Fields(command), "--store", "firestore")...)
		refused("--store firestore", text, err)
	}
}

// run runs a program that must end soon, and returns its output.
func run(t *testing.T, file string, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Env = env
	text, err := cmd.CombinedOutput()
	return string(text), errors.Join(err, ctx.Err())
}

func TestMakeBuildsForALaptopUnlessASettingAsksForMore(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Fatalf("%v: install make, which builds Parley", err)
	}
	plan := func(target string, more ...string) bool {
		t.Helper()
		env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, more...)
		text, err := run(t, "make", env, "-C", repository, "-n", target)
		if err != nil || !strings.Contains(text, "-o ../../bin/parley .") {
			t.Fatalf("make -n %s: %v\n%s", target, err, text)
		}
		return strings.Contains(text, " -tags laptop ")
	}
	if !plan("run") || !plan("run", "PARLEY_STORE=sqlite", "GOOGLE_CLOUD_PROJECT=p", "PARLEY_ADDR=127.0.0.1:3009") {
		t.Error("make run builds more than a laptop needs")
	}
	for _, a := range asks {
		if plan("run", a.variable) {
			t.Errorf("make run with %s builds a program that cannot follow it", a.variable)
		}
	}
	for _, target := range []string{"build", "sbom", "demo", "deploy"} {
		if plan(target) {
			t.Errorf("make %s builds less than the whole program", target)
		}
	}
}
