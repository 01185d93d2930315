package autostart_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/autostart"
	"parley.internal/shared/domaintest"
)

// silent are the errors of service managers that are not there, as this machine's tools print them.
var silent = map[string]error{
	"no bus of the account":   errors.New("exit status 1: Failed to connect to bus: No medium found"),
	"a newer systemctl":       errors.New("exit status 1: Failed to connect to user scope bus via local transport: not defined"),
	"a machine without it":    errors.New("exit status 1: System has not been booted with systemd as init system (PID 1). Can't operate"),
	"no program":              fmt.Errorf("systemctl: %w", &exec.Error{Name: "systemctl", Err: exec.ErrNotFound}),
	"no session of an Apple":  errors.New("exit status 125: Bootstrap failed: 125: Domain does not support specified action"),
	"no domain of an account": errors.New("exit status 112: Could not find domain for"),
}

func TestWhereNoServiceManagerAnswersNothingStays(t *testing.T) {
	t.Parallel()
	for name, trouble := range silent {
		for _, system := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", system ", system), func(t *testing.T) {
				t.Parallel()
				m := &manager{}
				s := service(t, m, "linux", system)
				s.Run = func(context.Context, string, ...string) (string, error) { return trouble.Error(), trouble }
				path, err := s.Install(t.Context())
				if !errors.Is(err, autostart.ErrNoManager) || !strings.Contains(err.Error(), "run `parley serve`") ||
					strings.Contains(err.Error(), "enable-linger") == system {
					t.Errorf("installing: %v", err)
				}
				if left, err := filepath.Glob(filepath.Join(s.Root, "*")); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
				if st, err := s.Status(t.Context()); !errors.Is(err, autostart.ErrNoManager) || st.Installed || st.Path != path {
					t.Errorf("its state: %+v, %v", st, err)
				}
				if _, err := s.Uninstall(t.Context()); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("removing what is not there: %v", err)
				}
			})
		}
	}
}

func TestAnInstalledServiceStaysAsItWasAndIsRemovedWithoutAManager(t *testing.T) {
	t.Parallel()
	for _, system := range []bool{false, true} {
		m := &manager{}
		s := service(t, m, "linux", system)
		path := domaintest.Must(s.Install(t.Context()))(t)
		before := domaintest.Must(os.ReadFile(path))(t)
		wants := filepath.Join(filepath.Dir(path), map[bool]string{false: "default", true: "multi-user"}[system]+".target.wants")
		domaintest.Check(t, os.Mkdir(wants, 0o700))
		domaintest.Check(t, os.Symlink(path, filepath.Join(wants, "parley.service")))
		s.Run = func(context.Context, string, ...string) (string, error) { return "", silent["no bus of the account"] }
		s.Args = append(s.Args, "--rate", "5")
		if _, err := s.Install(t.Context()); !errors.Is(err, autostart.ErrNoManager) {
			t.Errorf("system %t: %v", system, err)
		}
		if text := domaintest.Must(os.ReadFile(path))(t); string(text) != string(before) {
			t.Errorf("system %t: the definition was replaced by %s", system, text)
		}
		removed, err := s.Uninstall(t.Context())
		if err != nil || removed.Path != path || !errors.Is(removed.Unmanaged, autostart.ErrNoManager) {
			t.Errorf("system %t: %+v, %v", system, removed, err)
		}
		for _, gone := range []string{path, filepath.Join(wants, "parley.service")} {
			if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("system %t: %s is left, %v", system, gone, err)
			}
		}
	}
}

func TestAMissingProgramForAccountsIsNoMissingManager(t *testing.T) {
	t.Parallel()
	s := service(t, &manager{}, "linux", true)
	s.Run = func(_ context.Context, name string, _ ...string) (string, error) {
		if name == "systemctl" {
			return "", nil
		}
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	if _, err := s.Install(t.Context()); err == nil || errors.Is(err, autostart.ErrNoManager) || !strings.Contains(err.Error(), "useradd") {
		t.Error(err)
	}
}

func TestTheProcessOfTheServiceIsThatOfItsManager(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		os, out string
		err     error
		want    int
	}{
		"systemd":                {"linux", "4711\n", nil, 4711},
		"systemd, stopped":       {"linux", "0\n", nil, 0},
		"systemd, not there":     {"linux", "4711\n", errors.New("it failed"), 0},
		"launchd":                {"darwin", "gui/501/dev.parley.server = {\n\tactive count = 1\n\tpid = 4711\n}\n", nil, 4711},
		"launchd, between tries": {"darwin", "gui/501/dev.parley.server = {\n\tstate = waiting\n}\n", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t, &manager{}, c.os, false)
			answer := func(context.Context, string, ...string) (string, error) { return c.out, c.err }
			s.Run = answer
			if got := s.PID(t.Context()); got != 0 {
				t.Errorf("before it is installed it is %d", got)
			}
			s.Run = (&manager{}).run
			domaintest.Must(s.Install(t.Context()))(t)
			s.Run = answer
			if got := s.PID(t.Context()); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestAServiceSaysHowToLookAtIt(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*autostart.Service{
		"`systemctl --user status parley` and `journalctl --user -u parley -n 50`": {OS: "linux"},
		"`systemctl status parley` and `journalctl -u parley -n 50`":               {OS: "linux", System: true},
		"`launchctl print gui/501/dev.parley.server` and `tail /Users/a/Library/Logs/parley.log`": {OS: "darwin", UID: 501,
			Home: "/Users/a"},
	} {
		if got := s.Look(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestTheAddressIsThatOfTheDefinition(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"linux", "darwin"} {
		for _, addr := range []string{"127.0.0.1:3001", ":80", "[::1]:3001", "[fe80::1%eth0]:3001"} {
			s := autostart.Service{OS: system, Home: t.TempDir(), Program: "/opt/my parley", Args: []string{"serve", "--data", "/a b", "--addr",
				addr, "--hide-keys"}, Run: func(context.Context, string, ...string) (string, error) { return "", nil }}
			if got := s.Addr(); got != "" {
				t.Errorf("%s: without a service the address is %q", system, got)
			}
			if _, err := s.Install(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.Addr(); got != addr {
				t.Errorf("%s: got %q, want %q", system, got, addr)
			}
		}
	}
}
