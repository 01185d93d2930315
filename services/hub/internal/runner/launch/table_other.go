//go:build unix && !linux

package launch

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// sameBoot returns true: start times are dates on this system, which differ between boots.
func sameBoot(string) bool { return true }

var errEnded = errors.New("the process has ended")

// ps returns the output of ps, independent of the user's locale.
func ps(args ...string) (string, error) {
	cmd := exec.Command("ps", args...)
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/bin:/usr/bin"}
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// start returns the start time of a running process.
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

// members returns the members of a group.
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
			out = append(out, member{pid, unknownSession})
		}
	}
	return out, nil
}
