package cli_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/executabletest"
)

func TestTheServerIsInstalledAsAServiceOfTheAccount(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("the service manager of this test is systemd's")
		return
	}
	home := t.TempDir()
	calls, unit := filepath.Join(home, "calls"), filepath.Join(home, "c", "systemd", "user", "parley.service")
	executabletest.Write(t, filepath.Join(home, "systemctl"), []byte("#!/bin/sh\necho \"$*\" >> "+calls+"\necho active\n"))
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "c"), "PATH=" + home + ":" + os.Getenv("PATH")}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"service", "status"}, "No service is installed; `parley service install` writes " + unit, 0},
		{[]string{"service", "uninstall"}, "no service is installed", 1},
		{[]string{"service", "install", "--dry-run"}, "ExecStart=", 0},
		{[]string{"service", "install", "--", "--frob"}, "unknown flag: --frob; see `parley serve --help`", 2},
		{[]string{"service", "install", "--", "--rate", "fast"}, `"fast"`, 2},
		{[]string{"service", "install", "--", "please"}, `serve takes no argument "please"`, 2},
		{[]string{"service", "install", "--addr", "nonsense"}, "--addr must be host:port", 2},
		{[]string{"service", "install", "--system", "--data", "/x"}, "leave out --data", 2},
		{[]string{"service", "status"}, "No service is installed", 0},
		{[]string{"service", "install", "--addr", "127.0.0.1:3999", "--", "--rate", "5"}, "Installed " + unit, 0},
		{[]string{"service", "status"}, "active\n" + unit, 0},
		{[]string{"service", "uninstall"}, "removed " + unit + "; its data stays", 0},
	} {
		out, errOut, code := command(t, env, c.args...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%v: exit %d, printed %s%s; want %s", c.args, code, out, errOut, c.want)
		}
		if c.args[1] == "install" && code == 0 && c.args[2] != "--dry-run" {
			text, err := os.ReadFile(unit)
			want := " serve --data " + filepath.Join(home, ".parley") + " --addr 127.0.0.1:3999 --hide-keys --rate 5\n"
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("the unit is %s, %v; want %s", text, err, want)
			}
		}
	}
	text, err := os.ReadFile(calls)
	const asked = "--user is-active parley\n"
	want := asked + asked + "--user daemon-reload\n--user enable parley\n--user restart parley\n" + asked +
		"--user disable --now parley\n--user daemon-reload\n"
	if got := string(text); err != nil || got != want {
		t.Errorf("systemctl was called with\n%s, %v; want\n%s", got, err, want)
	}
}

func TestWithoutAServiceManagerNothingIsInstalledAndAnOldServiceIsRemoved(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("the service manager of this test is systemd's")
		return
	}
	home := t.TempDir()
	unit := filepath.Join(home, ".config", "systemd", "user", "parley.service")
	executabletest.Write(t, filepath.Join(home, "systemctl"),
		[]byte("#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n"))
	env := []string{"HOME=" + home, "PATH=" + home + ":" + os.Getenv("PATH")}
	expect := func(code int, want string, args ...string) {
		t.Helper()
		out, errOut, got := command(t, env, append([]string{"service"}, args...)...)
		if got != code || !strings.Contains(out+errOut, want) {
			t.Errorf("%v: exit %d, printed %s%s; want %d, %s", args, got, out, errOut, code, want)
		}
	}
	expect(1, "no service is installed, and no service manager answers (systemctl --user is-active parley", "status")
	expect(1, "sudo loginctl enable-linger $(id -un)", "install", "--addr", freeAddr(t))
	if _, err := os.Stat(filepath.Join(home, ".config")); err == nil {
		t.Error("the install left the definition")
	}
	expect(1, "no service is installed", "uninstall")
	if out, _, code := command(t, env, "service", "install", "--dry-run"); code != 0 {
		t.Errorf("exit %d", code)
	} else if err := errors.Join(os.MkdirAll(filepath.Dir(unit), 0o700), os.WriteFile(unit, []byte(out), 0o600)); err != nil {
		t.Fatal(err)
	}
	expect(1, unit+" is installed, but no service manager answers", "status")
	expect(0, "Removed "+unit+"; its data stays. A server that it may have started was not stopped", "uninstall")
	if _, err := os.Stat(unit); err == nil {
		t.Error("the definition is left")
	}
}

// freeAddr returns an address of loopback with a port at which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestAServerWhoseOutputIsLoggedPrintsNoKeys(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, local(filepath.Join(t.TempDir(), "data"), "--hide-keys")...)
	if text := p.out.String() + p.err.String(); strings.Contains(text, "parley_") || !strings.Contains(text, "--hide-keys leaves them out") {
		t.Errorf("it printed %s", text)
	}
}
