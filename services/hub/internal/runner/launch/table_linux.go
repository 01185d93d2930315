package launch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// boot is the ID of this boot of the machine. Start times of processes count from the boot.
var boot = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(text)), err
})

func sameBoot(startedAt string) bool {
	id, err := boot()
	return err != nil || strings.HasPrefix(startedAt, id+":")
}

// stat is the state of a process in /proc.
type stat struct {
	zombie         bool
	group, session int
	start          string
}

var errEnded = errors.New("the process has ended")

func readStat(pid string) (stat, error) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return stat{}, errEnded
	}
	// The second field is the program's name in parentheses, which may contain any character.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 20 {
		return stat{}, fmt.Errorf("/proc/%s/stat is malformed", pid)
	}
	group, err := strconv.Atoi(f[2])
	session, err2 := strconv.Atoi(f[3])
	return stat{f[0] == "Z" || f[0] == "X", group, session, f[19]}, errors.Join(err, err2)
}

// start returns the start time of a running process.
func start(pid int) (string, error) {
	id, err := boot()
	if err != nil {
		return "", err
	}
	s, err := readStat(strconv.Itoa(pid))
	if err == nil && s.zombie {
		err = errEnded
	}
	return id + ":" + s.start, err
}

// members returns the members of a group.
func members(group int) ([]member, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []member
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := readStat(name); err == nil && s.group == group && !s.zombie {
			out = append(out, member{pid, s.session})
		}
	}
	return out, nil
}
