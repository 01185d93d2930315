package local

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
