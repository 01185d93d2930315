package cli_test

import (
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

func TestAServerWhoseOutputIsLoggedPrintsNoKeys(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, local(filepath.Join(t.TempDir(), "data"), "--hide-keys")...)
	if text := p.out.String() + p.err.String(); strings.Contains(text, "parley_") || !strings.Contains(text, "--hide-keys leaves them out") {
		t.Errorf("it printed %s", text)
	}
}
