package cli_test

import (
	"bytes"
	"context"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"parley.internal/services/hub/internal/cli"
)

// inKeyring is the environment of a command in this process whose keyring is the mock.
var inKeyring = map[string]string{"PARLEY_KEYRING": "on", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}

// started starts a server in this process, ends it once it has printed its URL, and returns its output.
func started(t *testing.T, data string, env map[string]string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, ended := &output{more: make(chan struct{}, 1)}, make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, append([]string{"serve"}, local(data)...), environment(env), strings.NewReader(""), out,
			&bytes.Buffer{})
	}()
	for !serves.MatchString(out.String()) {
		select {
		case <-out.more:
		case code := <-ended:
			t.Fatalf("the server ended with %d:\n%s", code, out)
		}
	}
	// The answer comes once the server has started whole.
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := direct.Get(serves.FindStringSubmatch(out.String())[1] + "/v1/health")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // nothing of it is read
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("the server ended with %d:\n%s", code, out)
	}
	return out.String()
}

// printed returns the output of `parley key human`.
func printed(t *testing.T, data string, env map[string]string) string {
	t.Helper()
	out, errOut, code := inProcess(t, env, "key", "human", "--data", data)
	if code != 0 || errOut != "" {
		t.Errorf("key human: %q, exit %d", errOut, code)
	}
	return strings.TrimSuffix(out, "\n")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheHumansKeyGoesToTheKeyringWhereThereIsOne(t *testing.T) {
	data := t.TempDir()
	out := started(t, data, inKeyring)
	vars := keysEnv(t, data)
	key, err := keyring.Get("parley", vars["PARLEY_KEYRING_ACCOUNT"])
	if err != nil || !secret.MatchString(key) || strings.Count(out, key) != 1 || !strings.Contains(out, "is in the keyring") {
		t.Fatalf("the keyring has %q, %v; printed was\n%s", key, err, out)
	}
	files, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(read(t, filepath.Join(data, f.Name())), key) {
			t.Errorf("%s has the key", f.Name())
		}
	}
	if got := printed(t, data, inKeyring); got != key {
		t.Errorf("key human prints %q, want %q", got, key)
	}
	for name, c := range map[string]struct {
		env   map[string]string
		words string
	}{
		"turned off":           {map[string]string{"PARLEY_KEYRING": "off"}, "there is no keyring"},
		"of another session":   {map[string]string{"PARLEY_KEYRING": "on"}, "there is no keyring"},
		"with a wrong setting": {map[string]string{"PARLEY_KEYRING": "maybe"}, "must be on or off"},
	} {
		_, errOut, code := inProcess(t, c.env, "questions", "--data", data)
		if code != 1 || !strings.Contains(errOut, c.words) || !strings.Contains(errOut, "PARLEY_HUMAN_KEY") {
			t.Errorf("with a keyring %s: %q, exit %d", name, errOut, code)
		}
	}
	if again := started(t, data, inKeyring); secret.MatchString(again) || printed(t, data, inKeyring) != key {
		t.Errorf("the second start prints %q", again)
	}
}

func TestAnOlderKeyOfTheHumanMovesToItsPlaceAtTheNextStart(t *testing.T) {
	off := map[string]string{"PARLEY_KEYRING": "off"}
	for name, env := range map[string]map[string]string{"to a file": off, "to the keyring": inKeyring} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			started(t, data, off)
			before := keysEnv(t, data)
			key, file := before["PARLEY_HUMAN_KEY"], filepath.Join(data, "keys.env")
			if err := os.Remove(filepath.Join(data, "human.env")); err != nil {
				t.Fatal(err)
			}
			write(t, file, read(t, file)+"# mine\nPARLEY_HUMAN_KEY="+key+"\nOTHER=x")
			if got := printed(t, data, env); got != key {
				t.Errorf("before the start key human prints %q", got)
			}
			if out := started(t, data, env); !strings.Contains(out, "Your key was moved from "+file) || strings.Contains(out, key) {
				t.Errorf("the start prints %s", out)
			}
			text := read(t, file)
			if strings.Contains(text, key) || !strings.Contains(text, "\n# mine\nOTHER=x\n") && !strings.HasSuffix(text, "\nOTHER=x") {
				t.Errorf("keys.env is %q", text)
			}
			if got := printed(t, data, env); got != key {
				t.Errorf("after the start key human prints %q, want %q", got, key)
			}
			_, err := os.Stat(filepath.Join(data, "human.env"))
			if (err == nil) != (name == "to a file") {
				t.Errorf("human.env: %v", err)
			}
			if out := started(t, data, env); strings.Contains(out, "was moved") || read(t, file) == "" {
				t.Errorf("the next start prints %s", out)
			}
		})
	}
}

func TestAKeyOfTheHumanIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	started(t, data, nil)
	file, own := filepath.Join(data, "keys.env"), filepath.Join(data, "human.env")
	mine, old := read(t, own), "PARLEY_HUMAN_KEY=parley_other\n"
	write(t, file, read(t, file)+old)
	if out := started(t, data, nil); !strings.Contains(out, "hold different keys of yours") {
		t.Errorf("the start prints %s", out)
	}
	if read(t, own) != mine || !strings.HasSuffix(read(t, file), old) {
		t.Errorf("the files are %q and %q", read(t, own), read(t, file))
	}
	// A start that was interrupted between the two files ends the move.
	key := keysEnv(t, data)["PARLEY_HUMAN_KEY"]
	write(t, file, strings.Replace(read(t, file), "parley_other", key, 1))
	started(t, data, nil)
	if read(t, own) != mine || strings.Contains(read(t, file), "HUMAN") {
		t.Errorf("the files are %q and %q", read(t, own), read(t, file))
	}
}

func TestAKeyringThatHangsDoesNotHoldUpAStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bus, err := net.Listen("unix", filepath.Join(dir, "bus")) // it accepts connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	p := serve(t, []string{"PARLEY_KEYRING=on", "DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(dir, "bus")},
		local(filepath.Join(dir, "data"))...)
	vars := keysEnv(t, filepath.Join(dir, "data"))
	if names := slices.Sorted(maps.Keys(vars)); !slices.Equal(names, []string{"PARLEY_HUMAN_KEY", "PARLEY_KEY",
		"PARLEY_KEY_BETA", "PARLEY_URL"}) || !strings.Contains(p.out.String(), "human.env, which every process") {
		t.Errorf("it left %v and printed %s", names, p.out)
	}
	if a := p.call(vars["PARLEY_HUMAN_KEY"], "GET", "/v1/questions", nil); a.Status != 200 {
		t.Errorf("the key: %s", a)
	}
}
