package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/autostart"
	"parley.internal/services/hub/internal/cli"
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
	addr := freeAddr(t)
	systemctl(t, home, calls, unit)
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "c"), "PATH=" + home + ":" + os.Getenv("PATH")}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
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
		{[]string{"service", "install", "--", "--addr", "127.0.0.1:3009"}, "give --addr before --", 2},
		{[]string{"service", "install", "--", "--data=/x"}, "give --data before --", 2},
		{[]string{"service", "install", "--addr", "127.0.0.1:0"}, "must name its port", 2},
		{[]string{"service", "install", "--addr", "127.0.0.1:99999"}, "cannot listen on 127.0.0.1:99999", 1},
		{[]string{"service", "install", "--addr", taken.Addr().String()}, "listens there (stop it, or choose another", 1},
		{[]string{"service", "install", "--help"}, "--trust-proxy 1 --rate 50 --burst 200", 0},
		{[]string{"service", "install", "--addr", "nonsense"}, "--addr must be host:port", 2},
		{[]string{"service", "install", "--system", "--data", "/x"}, "leave out --data", 2},
		{[]string{"service", "status"}, "No service is installed", 0},
		{[]string{"service", "install", "--addr", addr, "--", "--rate", "5"}, "the server listens on " + addr, 0},
		// The port is the service's own now.
		{[]string{"service", "install", "--addr", addr, "--", "--rate", "5"}, "the server listens on " + addr, 0},
		{[]string{"service", "status"}, "active\n" + unit + "\nThe server answers at " + addr + " that it is well: Parley ", 0},
		{[]string{"service", "uninstall"}, "removed " + unit + "; its data stays", 0},
	} {
		out, errOut, code := command(t, env, c.args...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%v: exit %d, printed %s%s; want %s", c.args, code, out, errOut, c.want)
		}
		if c.args[1] == "install" && code == 0 && c.args[2] == "--addr" {
			text, err := os.ReadFile(unit)
			want := " serve --data " + filepath.Join(home, ".parley") + " --addr " + addr + " --hide-keys --rate 5\n"
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("the unit is %s, %v; want %s", text, err, want)
			}
		}
	}
	text, err := os.ReadFile(calls)
	const asked, pid = "--user is-active parley\n", "--user show --property=MainPID --value parley\n"
	const started = "--user daemon-reload\n--user enable parley\n--user restart parley\n"
	want := asked + asked + started + pid + started + asked + "--user disable --now parley\n--user daemon-reload\n"
	if got := string(text); err != nil || got != want {
		t.Errorf("systemctl was called with\n%s, %v; want\n%s", got, err, want)
	}
}

// systemctl writes a program that records its calls and runs the server of a unit.
func systemctl(t *testing.T, dir, calls, unit string) {
	t.Helper()
	pid := filepath.Join(dir, "pid")
	stop := "kill $(cat " + pid + ") && while kill -0 $(cat " + pid + ") 2>/dev/null; do sleep 0.1; done; rm " + pid
	executabletest.Write(t, filepath.Join(dir, "systemctl"), []byte("#!/bin/sh\necho \"$*\" >> "+calls+"\ncase \"$*\" in\n"+
		"*is-active*) echo active ;;\n"+
		"*MainPID*) cat "+pid+" ;;\n"+
		"*restart*) if test -f "+pid+"; then "+stop+"; fi\n"+
		"$(sed -n s/^ExecStart=//p "+unit+") >/dev/null 2>&1 & echo $! > "+pid+" ;;\n"+
		"*disable*) "+stop+" ;;\n"+
		"esac\n"))
	t.Cleanup(func() {
		if text, err := os.ReadFile(pid); err == nil { // it was not uninstalled
			id, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if server, findErr := os.FindProcess(id); err == nil && findErr == nil {
				_ = server.Kill()
			}
		}
	})
}

func TestAServiceThatDoesNotAnswerIsAnErrorThatSaysHowToLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &autostart.Service{OS: "linux", Home: dir, Program: "/bin/true", Args: []string{"serve"},
		Run: func(context.Context, string, ...string) (string, error) { return "", nil }}
	now := time.Now()
	silent := autostart.Watch{Client: &http.Client{}, Now: func() time.Time { return now },
		Pause: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }}
	var out bytes.Buffer
	err := cli.StartService(t.Context(), s, silent, filepath.Join(dir, "data"), freeAddr(t), &out)
	if !errors.Is(err, autostart.ErrSilent) || !strings.Contains(err.Error(), "the service was started, but its server does not answer at") ||
		!strings.Contains(err.Error(), "look with `systemctl --user status parley` and `journalctl --user") || out.Len() != 0 {
		t.Errorf("got %v, and printed %s", err, out.String())
	}
}

func TestTheDirectoryOfAnotherServerIsNotTakenByAService(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, nil, local(data)...)
	ran := false
	s := &autostart.Service{OS: "linux", Home: t.TempDir(), Program: "/bin/true", Args: []string{"serve"},
		Run: func(context.Context, string, ...string) (string, error) { ran = true; return "", nil }}
	err := cli.StartService(t.Context(), s, autostart.Watch{}, data, freeAddr(t), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "it listens at "+p.URL) || ran {
		t.Errorf("got %v, and a program ran: %t", err, ran)
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
	if out, errOut, code := command(t, append(env, "HOME="), "service", "status"); code != 1 ||
		!strings.Contains(errOut, "the home directory is unknown ($HOME is not defined): set HOME to it") {
		t.Errorf("without HOME: exit %d, printed %s%s", code, out, errOut)
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
