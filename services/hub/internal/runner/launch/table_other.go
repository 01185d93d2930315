//go:build unix && !linux

package launch

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// sameBoot has nothing to go by here: the time of a start has its date.
func sameBoot(string) bool { return true }

var errEnded = errors.New("the process has ended")

// ps lists processes by what `ps` calls it, without regard to the user's language.
func ps(args ...string) (string, error) {
	cmd := exec.Command("ps", args...)
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/bin:/usr/bin"}
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// start is when a process that lives began.
func start(pid int) (string, error) {
	line, err := ps("-o", "stat=,lstart=", "-p", strconv.Itoa(pid))
	if err != nil || line == "" {
		return "", errEnded
	}
	state, at, _ := strings.Cut(line, " ")
	if strings.HasPrefix(state, "Z") {
		return "", errEnded
	}
	return strings.Join(strings.Fields(at), " "), nil
}

// members are the processes of a group.
func members(group int) ([]member, error) {
	list, err := ps("-A", "-o", "pid=,pgid=,stat=")
	if err != nil {
		return nil, fmt.Errorf("cannot list processes: %w", err)
	}
	var out []member
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) < 3 || f[1] != strconv.Itoa(group) || strings.HasPrefix(f[2], "Z") {
			continue
		}
		if pid, err := strconv.Atoi(f[0]); err == nil {
			out = append(out, member{pid, unknown})
		}
	}
	return out, nil
}
