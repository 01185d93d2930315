package autostart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Service is the server as a service.
type Service struct {
	// OS is linux or darwin, as runtime.GOOS names it.
	OS string
	// System means a service of the machine, which starts with it, and not of the account.
	System bool
	// UID is the id of the account, and Home its home directory.
	UID  int
	Home string
	// Config is the directory of the account's configuration, by default .config in Home.
	Config string
	// Root is put before the paths of the machine's files, for tests.
	Root string
	// Program is the absolute path of this program, and Args are its arguments.
	Program string
	Args    []string
	// Run runs a program and returns its output. The error of a program that failed holds its output.
	Run func(ctx context.Context, name string, args ...string) (string, error)
}

const (
	name  = "parley"
	label = "dev.parley.server" // of launchd
	mark  = "installed by parley service install"
	// account is that of a service of the machine.
	account = "parley"
)

// ErrUnsupported means that the platform has no service manager that this package knows.
var ErrUnsupported = errors.New("services are installed with systemd on Linux and launchd on macOS; elsewhere let the " +
	"system's own scheduler run `parley serve`")

// Path returns the path of the definition.
func (s *Service) Path() (string, error) {
	switch {
	case s.OS == "linux" && s.System:
		return filepath.Join(s.Root, "/etc/systemd/system", name+".service"), nil
	case s.OS == "linux" && s.Config != "":
		return filepath.Join(s.Config, "systemd/user", name+".service"), nil
	case s.OS == "linux":
		return filepath.Join(s.Home, ".config/systemd/user", name+".service"), nil
	case s.OS == "darwin" && s.System:
		return "", errors.New("on macOS the service is one of the account: leave out --system")
	case s.OS == "darwin":
		return filepath.Join(s.Home, "Library/LaunchAgents", label+".plist"), nil
	}
	return "", ErrUnsupported
}

// Install writes the definition and starts the service, now and whenever the machine or the session of the account
// starts. A service that is installed is replaced and restarted. It returns the path of the definition. Where no service
// manager answers it leaves the files as they were, and the error wraps [ErrNoManager].
func (s *Service) Install(ctx context.Context) (path string, err error) {
	path, err = s.ours()
	if err != nil {
		return path, err
	}
	text, err := s.Definition()
	if err != nil {
		return path, err
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	existed := err == nil
	made, err := makeDir(filepath.Dir(path))
	if err != nil {
		return path, err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return path, err
	}
	err = s.start(ctx, path)
	none := s.unmanaged(err)
	if none == nil {
		return path, err
	}
	if existed {
		return path, errors.Join(none, os.WriteFile(path, before, 0o644))
	}
	none = errors.Join(none, os.Remove(path))
	for _, dir := range made {
		_ = os.Remove(dir) // it stays where another program has written to it meanwhile
	}
	return path, none
}

// makeDir creates a directory and returns those that it made, the deepest first.
func makeDir(dir string) (made []string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	return made, os.MkdirAll(dir, 0o755)
}

// start lets the service manager read the definition and start the service anew.
func (s *Service) start(ctx context.Context, path string) error {
	if s.OS == "darwin" {
		_, _ = s.Run(ctx, "launchctl", "bootout", s.domain()+"/"+label) // it may not run
		_, err := s.Run(ctx, "launchctl", "bootstrap", s.domain(), path)
		return err
	}
	if _, err := s.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	for _, args := range [][]string{{"enable", name}, {"restart", name}} {
		if _, err := s.systemctl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// Removed is a service that was removed.
type Removed struct {
	// Path is that of its definition.
	Path string
	// Unmanaged wraps [ErrNoManager] where no service manager answered, so that nothing was stopped.
	Unmanaged error
}

// Uninstall stops the service and removes its definition, and leaves its data. Where no service manager answers it
// removes the definition alone. A service that is not installed is an error that wraps [fs.ErrNotExist].
func (s *Service) Uninstall(ctx context.Context) (Removed, error) {
	path, err := s.installed()
	out := Removed{Path: path}
	if err != nil {
		return out, err
	}
	if s.OS == "darwin" {
		_, err := s.Run(ctx, "launchctl", "bootout", s.domain()+"/"+label) // it may not run
		out.Unmanaged = s.unmanaged(err)
		return out, os.Remove(path)
	}
	if _, err := s.systemctl(ctx, "disable", "--now", name); err != nil {
		if out.Unmanaged = s.unmanaged(err); out.Unmanaged == nil {
			return out, err
		}
		return out, s.remove(path)
	}
	if err := os.Remove(path); err != nil {
		return out, err
	}
	_, err = s.systemctl(ctx, "daemon-reload")
	return out, err
}

// Status is the state of the service.
type Status struct {
	Path      string
	Installed bool
	// State is that of the service manager: active, inactive, failed and the like on systemd, and loaded or not loaded on
	// launchd.
	State string
}

// Status asks the service manager for the state of the service. Where none answers, the error wraps [ErrNoManager].
func (s *Service) Status(ctx context.Context) (Status, error) {
	path, err := s.Path()
	if err != nil {
		return Status{}, err
	}
	st := Status{Path: path}
	if _, err := os.Stat(path); err == nil {
		st.Installed = true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return st, err
	}
	if s.OS == "darwin" {
		st.State = "loaded"
		if _, err := s.Run(ctx, "launchctl", "print", s.domain()+"/"+label); err != nil {
			st.State = "not loaded"
			return st, s.unmanaged(err)
		}
		return st, nil
	}
	out, err := s.systemctl(ctx, "is-active", name) // its exit code is not 0 for a service that is not active
	if none := s.unmanaged(err); none != nil {
		return st, none
	}
	st.State = strings.TrimSpace(out)
	if st.State == "" {
		return st, err
	}
	return st, nil
}

// ours returns the path of the definition, or an error if the file there is somebody else's.
func (s *Service) ours() (string, error) {
	path, err := s.Path()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err == nil && !strings.Contains(string(text), mark) {
		err = fmt.Errorf("%s was not %s: move it away first", path, mark)
	}
	return path, err
}

// prepare makes the account of a system service.
func (s *Service) prepare(ctx context.Context) error {
	if s.OS != "linux" || !s.System {
		return nil
	}
	if _, err := s.Run(ctx, "id", "-u", account); err == nil {
		return nil
	}
	_, err := s.Run(ctx, "useradd", "--system", "--home-dir", "/var/lib/"+name, "--shell", "/usr/sbin/nologin", account)
	return err
}

func (s *Service) systemctl(ctx context.Context, args ...string) (string, error) {
	if !s.System {
		args = append([]string{"--user"}, args...)
	}
	return s.Run(ctx, "systemctl", args...)
}

// domain is the domain of the account in launchd.
func (s *Service) domain() string {
	return "gui/" + strconv.Itoa(s.UID)
}
