package autostart_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/autostart"
	"parley.internal/shared/domaintest"
)

// manager records the calls of the service manager and of the programs for accounts.
type manager struct {
	calls []string
	fail  string // the call that fails
}

func (m *manager) run(_ context.Context, name string, args ...string) (string, error) {
	call := name + " " + strings.Join(args, " ")
	m.calls = append(m.calls, call)
	if m.fail != "" && strings.Contains(call, m.fail) {
		return "", errors.New(call + ": it failed")
	}
	return "active\n", nil
}

func service(t *testing.T, m *manager, os string, system bool) *autostart.Service {
	t.Helper()
	dir := t.TempDir()
	return &autostart.Service{OS: os, System: system, UID: 501, Home: filepath.Join(dir, "home"), Root: dir, Program: "/bin/true",
		Args: []string{"serve", "--data", "/data", "--hide-keys"}, Run: m.run}
}

func TestAServiceIsInstalledShownAndRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		os                 string
		system             bool
		path               string
		install, uninstall []string
	}{
		"systemd, of an account": {"linux", false, "home/.config/systemd/user/parley.service",
			[]string{"systemctl --user daemon-reload", "systemctl --user enable parley", "systemctl --user restart parley"},
			[]string{"systemctl --user disable --now parley", "systemctl --user daemon-reload"}},
		"systemd, of the machine": {"linux", true, "etc/systemd/system/parley.service",
			[]string{"systemctl daemon-reload", "id -u parley", "systemctl enable parley", "systemctl restart parley"},
			[]string{"systemctl disable --now parley", "systemctl daemon-reload"}},
		"launchd": {"darwin", false, "home/Library/LaunchAgents/dev.parley.server.plist",
			[]string{"launchctl bootout gui/501/dev.parley.server", "launchctl bootstrap gui/501 PATH"},
			[]string{"launchctl bootout gui/501/dev.parley.server"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &manager{}
			s := service(t, m, c.os, c.system)
			want := filepath.Join(s.Root, c.path)
			if _, err := s.Uninstall(t.Context()); !errors.Is(err, fs.ErrNotExist) || len(m.calls) != 0 {
				t.Errorf("before it is installed, it is removed with %v by %q", err, m.calls)
			}
			for range 2 { // the second time replaces it
				m.calls = nil
				path, err := s.Install(t.Context())
				if calls := strings.ReplaceAll(strings.Join(m.calls, "\n"), path, "PATH"); err != nil || path != want ||
					calls != strings.Join(c.install, "\n") {
					t.Fatalf("it is installed at %s, %v, by\n%s", path, err, calls)
				}
			}
			if st, err := s.Status(t.Context()); err != nil || !st.Installed || st.Path != want ||
				!slices.Contains([]string{"active", "loaded"}, st.State) {
				t.Errorf("got %+v, %v", st, err)
			}
			m.calls = nil
			removed, err := s.Uninstall(t.Context())
			if _, gone := os.Stat(removed.Path); removed.Path != want || removed.Unmanaged != nil || err != nil ||
				!errors.Is(gone, fs.ErrNotExist) || !slices.Equal(m.calls, c.uninstall) {
				t.Errorf("it is removed with %v, %v, by %q", err, gone, m.calls)
			}
			if st, err := s.Status(t.Context()); err != nil || st.Installed {
				t.Errorf("after its end: %+v, %v", st, err)
			}
		})
	}
}

func TestADefinitionOfSomebodyElseStays(t *testing.T) {
	t.Parallel()
	m := &manager{}
	s := service(t, m, "linux", false)
	path := domaintest.Must(s.Path())(t)
	domaintest.Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	domaintest.Check(t, os.WriteFile(path, []byte("[Unit]\n"), 0o600))
	_, errInstall := s.Install(t.Context())
	_, errUninstall := s.Uninstall(t.Context())
	for _, err := range []error{errInstall, errUninstall} {
		if err == nil || !strings.Contains(err.Error(), "move it away first") {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(path); string(text) != "[Unit]\n" || len(m.calls) != 0 {
		t.Errorf("it is %q now, %v; calls: %q", text, err, m.calls)
	}
}

func TestAMissingAccountIsMade(t *testing.T) {
	t.Parallel()
	m := &manager{fail: "id -u"}
	if _, err := service(t, m, "linux", true).Install(t.Context()); err != nil || !strings.HasPrefix(m.calls[2], "useradd --system ") {
		t.Errorf("%v, %q", err, m.calls)
	}
}

func TestWhatCannotBeInstalledSaysWhy(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*autostart.Service{
		"systemd on Linux and launchd":  {OS: "windows", Program: "/p"},
		"leave out --system":            {OS: "darwin", System: true, Program: "/p"},
		"must be absolute":              {OS: "linux", Program: "parley"},
		"must have no line ends":        {OS: "linux", Program: "/p", Args: []string{"a\nExecStartPre=/evil"}},
		"enable parley: it failed":      nil,
		"must have no line ends, again": {OS: "darwin", Program: "/p", Args: []string{"a\r"}},
	} {
		m := &manager{fail: "enable"}
		if s == nil {
			s = service(t, m, "linux", false)
		} else {
			s.Home, s.Run = t.TempDir(), m.run
		}
		if _, err := s.Install(t.Context()); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, ", again")) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestADefinitionSaysTheArgumentsAsTheyAre(t *testing.T) {
	t.Parallel()
	m := &manager{}
	s := service(t, m, "linux", false)
	s.Args = []string{"serve", "--data", `/a b/"c"\d`, "--public-url", "https://h/%x$y"}
	text := domaintest.Must(s.Definition())(t)
	if want := `ExecStart=/bin/true serve --data "/a b/\"c\"\\d" --public-url https://h/%%x$$y` + "\n"; !strings.Contains(text, want) {
		t.Errorf("got\n%s, want the line\n%s", text, want)
	}
	s.OS = "darwin"
	s.Args = []string{"serve", "<&>"}
	text = domaintest.Must(s.Definition())(t)
	if !strings.Contains(text, "<string>&lt;&amp;&gt;</string>") {
		t.Errorf("got\n%s", text)
	}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSystemdAcceptsTheUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: the syntax is not checked")
		return
	}
	for _, system := range []bool{true, false} {
		s := service(t, &manager{}, "linux", system)
		unit := filepath.Join(t.TempDir(), "parley.service")
		domaintest.Check(t, os.WriteFile(unit, []byte(domaintest.Must(s.Definition())(t)), 0o600))
		args := []string{"verify", "--man=no", unit}
		if !system {
			args = append([]string{"--user"}, args...)
		}
		cmd := exec.CommandContext(t.Context(), analyze, args...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), unit) {
			t.Errorf("system %t: %v\n%s", system, err, out)
		}
	}
}
