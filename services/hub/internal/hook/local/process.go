package local

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"parley.internal/services/hub/internal/hook/session"
)

// Started returns the time of a process's start as the system gives it, which distinguishes the process from a later
// one with its number. It is empty where the time is unknown.
func Started(pid int) string {
	return field(pid, 22)
}

// Alive reports whether a process runs that started at a time as [Started] gave it.
func Alive(pid int, started string) bool {
	if pid <= 1 || !exists(pid) {
		return false
	}
	now := Started(pid)
	return started == "" || now == "" || now == started
}

// Ancestor returns the nearest process above this one whose name begins with one of the names, or 0. It looks at a few
// generations: a client starts a hook by itself or through a shell.
func Ancestor(names ...string) int {
	pid := os.Getppid()
	for range 4 {
		if pid <= 1 {
			return 0
		}
		comm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
		if err != nil {
			return 0
		}
		for _, name := range names {
			if strings.HasPrefix(string(comm), name) {
				return pid
			}
		}
		pid, _ = strconv.Atoi(field(pid, 4)) // 0 ends the search
	}
	return 0
}

// field returns a field of a process in /proc, counted from 1, from the third on.
func field(pid, n int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	rest := string(text)
	if i := strings.LastIndex(rest, ") "); i >= 0 { // after the name, which may hold anything
		rest = rest[i+2:]
	}
	if fields := strings.Fields(rest); len(fields) > n-3 {
		return fields[n-3]
	}
	return ""
}

// Terminal returns the controlling terminal of this process, or of the nearest process above it that has one, with the
// process that leads its session: while that runs, the terminal is the same. The path is empty where there is none, or where
// the system does not say.
func Terminal() session.Terminal {
	pid := os.Getpid()
	for range 6 {
		if path := device(field(pid, 7)); path != "" {
			leader, _ := strconv.Atoi(field(pid, 6))
			return session.Terminal{Path: path, Leader: session.Process{PID: leader, Start: Started(leader)}}
		}
		if pid, _ = strconv.Atoi(field(pid, 4)); pid <= 1 {
			break
		}
	}
	return session.Terminal{}
}

// device returns the path of a terminal by its number, as the system gives it. Terminals in windows are pseudo terminals.
func device(number string) string {
	n, err := strconv.ParseUint(number, 10, 32)
	major, minor := n>>8&0xfff, n&0xff|n>>12&0xfff00
	if err != nil || major < 136 || major > 143 {
		return ""
	}
	return "/dev/pts/" + strconv.FormatUint((major-136)<<8+minor, 10)
}

// Ring rings the bell of a terminal, and reports whether it did. Nothing else is written there.
func Ring(t session.Terminal) bool {
	if t.Path == "" || !Alive(t.Leader.PID, t.Leader.Start) || device(field(t.Leader.PID, 7)) != t.Path {
		return false
	}
	f, err := openTerminal(t.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	_, err = f.Write([]byte{7})
	return err == nil
}
