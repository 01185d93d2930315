package cli_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/doctor"
)

// lines returns the lines that the doctor printed, by check.
func lines(t *testing.T, out string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 3 || !strings.Contains("ok warn fail skip", words[0]) {
			t.Errorf("the line %q is not that of a check", line)
			continue
		}
		seen[words[1]] = line
	}
	return seen
}

func begin(t *testing.T, seen map[string]string, want map[string]string) {
	t.Helper()
	if len(seen) != len(want) {
		t.Errorf("the checks are %v; want %d", seen, len(want))
	}
	for check, state := range want {
		if !strings.HasPrefix(seen[check], state) {
			t.Errorf("%s: %q; want %s", check, seen[check], state)
		}
	}
}

var laptop = map[string]string{"store": "ok ", "whole": "ok ", "permissions": "ok ", "disk": "", "server": "ok ",
	"keys": "ok ", "human": "", "clock": "ok "}

func TestTheDoctorPassesTheStoreOfAServer(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p := serve(t, nil, local(data)...)
	out, errOut, _ := command(t, nil, "doctor", "--data", data)
	begin(t, lines(t, out), laptop)
	if !strings.Contains(out, "serves at "+p.URL) || !strings.Contains(out, "3 valid keys") ||
		!strings.Contains(out, filepath.Join(data, "human.env")+", which every process of your account can read") {
		t.Errorf("got %s%s", out, errOut)
	}
	for _, key := range keysEnv(t, data) {
		if strings.HasPrefix(key, "parley_") && strings.Contains(out+errOut, key) {
			t.Error("a key is shown")
		}
	}
}

func TestTheDoctorFailsIfACheckFails(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	if out, errOut, code := command(t, nil, "doctor", "--data", data); code != 1 ||
		!strings.HasPrefix(out, "fail  store ") || !strings.Contains(errOut, "checks failed") {
		t.Errorf("without a store: exit %d, %s%s", code, out, errOut)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the doctor created a data directory")
	}
	makeKey(t, data)
	if out, errOut, code := command(t, nil, "doctor", "--data", data, "--json"); code == 0 {
		var seen []doctor.Result
		if err := json.Unmarshal([]byte(out), &seen); err != nil || errOut != "" || len(seen) != len(laptop) ||
			seen[0].Check != "store" || seen[0].State != doctor.OK {
			t.Errorf("got %v from %s%s", err, out, errOut)
		}
	} else if !strings.Contains(out, `"check": "disk"`) { // a machine with a full disk
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
	if err := os.Chmod(filepath.Join(data, "parley.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _, code := command(t, nil, "doctor", "--data", data, "--json")
	var seen []doctor.Result
	if err := json.Unmarshal([]byte(out), &seen); err != nil || code != 1 || !strings.Contains(out, "chmod 600") {
		t.Errorf("an open store: exit %d, %v, %s", code, err, out)
	}
}

func TestTheDoctorChecksTheEmulatorAndSkipsTheRest(t *testing.T) {
	t.Parallel()
	out, errOut, code := command(t, cloud(t), "doctor")
	seen := lines(t, out)
	if code != 0 || errOut != "" || !strings.HasPrefix(seen["store"], "ok ") ||
		!strings.HasPrefix(seen["indexes"], "skip ") || strings.Count(out, "skip ") != len(seen)-1 {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}

func TestTheDoctorReportsAMissingEmulator(t *testing.T) {
	t.Parallel()
	out, errOut, code := command(t, []string{"FIRESTORE_EMULATOR_HOST=" + closed(t)}, "doctor", "--store", "firestore",
		"--project", "demo-none")
	if seen := lines(t, out); code != 1 || !strings.HasPrefix(seen["store"], "fail ") ||
		!strings.Contains(seen["store"], "make emulator") || errOut != "parley: 1 of 10 checks failed\n" {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}

// closed returns an address without a listener.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Every call goes through a missing proxy, so that none leaves this machine.
func TestTheDoctorEndsWithoutANetwork(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file,
		[]byte(`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	none := "http://" + closed(t)
	for _, c := range []struct {
		name, file, words string
	}{
		{"with credentials", file, "proxyconnect"},
		{"without", file + ".gone", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := []string{"HTTPS_PROXY=" + none, "HTTP_PROXY=" + none, "GOOGLE_APPLICATION_CREDENTIALS=" + c.file}
			out, errOut, code := command(t, env, "doctor", "--store", "firestore", "--project", "my-project")
			want := map[string]string{"credentials": "fail ", "clock": "fail ", "database": "skip ", "store": "skip ",
				"indexes": "skip ", "fields": "skip ", "ttl": "skip ", "triggers": "skip ", "sweeps": "skip ",
				"push": "skip "}
			seen := lines(t, out)
			begin(t, seen, want)
			if code != 1 || errOut != "parley: 2 of 10 checks failed\n" ||
				!strings.Contains(seen["credentials"], c.words) {
				t.Errorf("exit %d: %s%s", code, out, errOut)
			}
		})
	}
}

func TestTheDoctorsHelpDescribesItsExitCode(t *testing.T) {
	t.Parallel()
	out, _, code := inProcess(t, nil, "doctor", "--help")
	for _, words := range []string{"exit code is 0", "1 otherwise", "Warnings do not fail", "--json", "--region",
		"--project"} {
		if code != 0 || !strings.Contains(out, words) {
			t.Errorf("exit %d, without %q: %s", code, words, out)
		}
	}
}
