package checkout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// project returns the repository's id: that of its origin, or else a hash of this machine and a directory, which is the
// origin's where that is a directory of this machine.
func (c *Checkout) project(ctx context.Context) string {
	out, err := c.git(ctx, "remote", "get-url", "origin")
	origin := strings.TrimSuffix(string(out), "\n")
	if err != nil || origin == "" {
		return hash(machine(), c.Common)
	}
	if id, ok := ID(origin); ok {
		return id
	}
	dir, isDir := directory(origin)
	if !isDir {
		return hash(machine(), origin)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.Root, dir)
	}
	for _, d := range []string{filepath.Join(dir, ".git"), dir, dir + ".git"} {
		if real, err := filepath.EvalSymlinks(d); err == nil {
			return hash(machine(), real)
		}
	}
	return hash(machine(), filepath.Clean(dir))
}

// ID returns the id of the repository with an origin: host/owner/name, with the host in lower case and without user,
// port and ".git". It is false for an origin that names no host.
func ID(origin string) (string, bool) {
	host, name := "", ""
	if u, err := url.Parse(origin); err == nil && u.Scheme != "" && strings.Contains(origin, "://") {
		if u.Scheme == "file" {
			return "", false
		}
		host, name = u.Hostname(), u.Path
	} else if _, isDir := directory(origin); !isDir {
		host, name, _ = strings.Cut(origin, ":") // user@host:owner/name
		host = host[strings.LastIndex(host, "@")+1:]
	}
	name = strings.TrimSuffix(strings.Trim(path.Clean("/"+name), "/"), ".git")
	if host == "" || name == "" || strings.ContainsAny(host, ":@/[]") {
		return "", false
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }) {
		name = (&url.URL{Path: name}).EscapedPath()
	}
	return strings.ToLower(host) + "/" + name, true
}

// directory returns the path of an origin that is a directory of this machine, by the rules of git: a text with a colon
// before its first slash names a host, except for a drive.
func directory(origin string) (string, bool) {
	if u, err := url.Parse(origin); err == nil && u.Scheme == "file" {
		return filepath.FromSlash(u.Path), true
	}
	before, _, colon := strings.Cut(origin, ":")
	drive := len(before) == 1
	if colon && !drive && !strings.Contains(before, "/") {
		return "", false
	}
	return filepath.FromSlash(origin), true
}

// machine returns an identifier of this machine: its id, or else its name.
func machine() string {
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(strings.TrimSpace(string(id))) > 0 {
		return strings.TrimSpace(string(id))
	}
	name, _ := os.Hostname() // without a name, directories alone distinguish
	return name
}

// hash returns an id that tells nothing about the machine and the directory.
func hash(machine, dir string) string {
	sum := sha256.Sum256([]byte(machine + "\x00" + filepath.ToSlash(dir)))
	return "local-" + hex.EncodeToString(sum[:16])
}
