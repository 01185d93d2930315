package autostart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// ErrNoManager means that no service manager answers on this machine, or none for this account.
var ErrNoManager = errors.New("no service manager answers")

// silence is the output of systemctl and launchctl where no service manager answers.
var silence = regexp.MustCompile(`Failed to connect to .*(bus|transport)|not been booted with systemd|` +
	`Failed to get D-Bus connection|Could not find domain for|Domain does not support specified action`)

// unmanaged returns an error that wraps [ErrNoManager] and names a remedy, where a call of the service manager failed
// because there is none, and nil for every other outcome.
func (s *Service) unmanaged(err error) error {
	if err == nil {
		return nil
	}
	var missing *exec.Error
	if !silence.MatchString(err.Error()) && (!errors.As(err, &missing) || missing.Name != "systemctl" && missing.Name != "launchctl") {
		return nil
	}
	why, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return fmt.Errorf("%w (%s): %s", ErrNoManager, why, s.remedy())
}

// remedy returns the advice for a machine on which no service manager answers.
func (s *Service) remedy() string {
	const other = "in a container let its own manager run `parley serve`, and in WSL write systemd=true under [boot] in " +
		"/etc/wsl.conf and start it anew"
	switch {
	case s.OS == "darwin":
		return "launchd has a session for an account that is logged in at the screen: log in there, or run `parley serve`"
	case s.System:
		return other
	}
	return "after su or sudo, and where the account has no session, run `sudo loginctl enable-linger $(id -un)` and `export " +
		"XDG_RUNTIME_DIR=/run/user/$(id -u)` and repeat it, or use --system as root; " + other
}

// Look returns the commands that show the state and the log of the service.
func (s *Service) Look() string {
	switch {
	case s.OS == "darwin":
		return "`launchctl print " + s.domain() + "/" + label + "` and `tail " + s.log() + "`"
	case s.System:
		return "`systemctl status " + name + "` and `journalctl -u " + name + " -n 50`"
	}
	return "`systemctl --user status " + name + "` and `journalctl --user -u " + name + " -n 50`"
}

// log is the file to which launchd writes the output of the server.
func (s *Service) log() string { return filepath.Join(s.Home, "Library/Logs/parley.log") }

// The address among the arguments of a definition, which systemd has in a line and launchd in elements.
var addrInUnit, addrInJob = regexp.MustCompile(`(?m)^ExecStart=.* --addr "?([^"\s]+)`),
	regexp.MustCompile(`<string>--addr</string>\s*<string>([^<]+)</string>`)

// Addr returns the address at which the server of the installed service listens, empty where its definition has none.
func (s *Service) Addr() string {
	path, err := s.installed()
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for _, form := range []*regexp.Regexp{addrInUnit, addrInJob} {
		if m := form.FindStringSubmatch(string(text)); m != nil {
			return strings.ReplaceAll(m[1], "%%", "%")
		}
	}
	return ""
}

// launchdPID is the line with the id of a job's process in the output of launchctl print.
var launchdPID = regexp.MustCompile(`(?m)^\s*pid = ([0-9]+)$`)

// PID returns the id of the process that the service manager runs as the service, 0 if there is none or it is not known.
func (s *Service) PID(ctx context.Context) int {
	if _, err := s.installed(); err != nil {
		return 0
	}
	var text string
	var err error
	if s.OS == "darwin" {
		text, err = s.Run(ctx, "launchctl", "print", s.domain()+"/"+label)
		if m := launchdPID.FindStringSubmatch(text); m != nil {
			text = m[1]
		}
	} else {
		text, err = s.systemctl(ctx, "show", "--property=MainPID", "--value", name)
	}
	pid, parseErr := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || parseErr != nil {
		return 0
	}
	return pid
}

// installed returns the path of the definition that this package wrote, or an error that wraps [fs.ErrNotExist].
func (s *Service) installed() (string, error) {
	path, err := s.ours()
	if err != nil {
		return path, err
	}
	if _, err := os.Stat(path); err != nil {
		return path, fmt.Errorf("no service is installed: %w", err)
	}
	return path, nil
}

// remove removes the definition, and the link with which systemd has enabled it, without the service manager.
func (s *Service) remove(path string) error {
	for _, wants := range []string{"default.target.wants", "multi-user.target.wants"} {
		link := filepath.Join(filepath.Dir(path), wants, name+".service")
		if to, err := os.Readlink(link); err == nil && filepath.Base(to) == name+".service" {
			if err := os.Remove(link); err != nil {
				return err
			}
		}
	}
	return os.Remove(path)
}
