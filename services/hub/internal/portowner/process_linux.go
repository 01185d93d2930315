package portowner

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listening is the state of a socket that listens, in /proc/net/tcp (proc_pid_net(5)).
const listening = "0A"

// process returns the id and the name of the process that listens at a port, as "4711 (node)", empty if it is not found.
func process(addr string) string {
	_, text, err := net.SplitHostPort(addr)
	port, numErr := strconv.ParseUint(text, 10, 16)
	if err != nil || numErr != nil {
		return ""
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		lines, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(lines)) {
			f := strings.Fields(line) // number, local address, remote address, state, …, the tenth is the inode
			if len(f) > 9 && f[3] == listening && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well-formed
	for _, file := range files {
		if to, err := os.Readlink(file); err != nil || !sockets[to] {
			continue
		}
		pid := strings.Split(file, "/")[2]
		name, err := os.ReadFile("/proc/" + pid + "/comm")
		if err != nil {
			continue
		}
		return pid + " (" + strings.TrimSpace(string(name)) + ")"
	}
	return ""
}
