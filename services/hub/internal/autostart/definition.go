package autostart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// seccomp are the restrictions that need no privileges, so that a service of an account has them, too.
const seccomp = `UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
`

// confined are the restrictions of a service of the machine.
const confined = `User=` + account + `
StateDirectory=` + name + `
StateDirectoryMode=0700
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateDevices=yes
PrivateTmp=yes
RestrictNamespaces=yes
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
`

// Definition returns the text of the definition.
func (s *Service) Definition() (string, error) {
	if _, err := s.Path(); err != nil {
		return "", err
	}
	if !filepath.IsAbs(s.Program) {
		return "", fmt.Errorf("the path of the program must be absolute, not %q", s.Program)
	}
	for _, a := range append([]string{s.Program}, s.Args...) {
		if strings.ContainsAny(a, "\n\r\x00") {
			return "", errors.New("an argument of the service must have no line ends")
		}
	}
	if s.OS == "darwin" {
		return s.plist(), nil
	}
	after, wanted, limits := "", "default.target", seccomp
	if s.System {
		after = "Wants=network-online.target\nAfter=network-online.target\n"
		wanted, limits = "multi-user.target", confined+seccomp
	}
	words := make([]string, 0, len(s.Args)+1)
	for _, a := range append([]string{s.Program}, s.Args...) {
		words = append(words, quoted(a))
	}
	return "[Unit]\n# " + mark + "\nDescription=Parley, the meeting ground for AI agents\n" + after +
		"\n[Service]\nExecStart=" + strings.Join(words, " ") + "\nRestart=on-failure\nTimeoutStopSec=30\n" + limits +
		"\n[Install]\nWantedBy=" + wanted + "\n", nil
}

// quoted returns an argument of a command line of systemd (systemd.service(5), systemd.syntax(7)).
func quoted(arg string) string {
	arg = strings.NewReplacer("%", "%%", "$", "$$", `\`, `\\`, `"`, `\"`).Replace(arg)
	if arg == "" || strings.ContainsAny(arg, " \t'\"\\;") {
		return `"` + arg + `"`
	}
	return arg
}

// plist returns the job of launchd. Its log is in the account's directory of logs.
func (s *Service) plist() string {
	var b bytes.Buffer
	line := func(tag, text string) {
		b.WriteString("    <" + tag + ">")
		_ = xml.EscapeText(&b, []byte(text)) // to memory
		b.WriteString("</" + tag + ">\n")
	}
	b.WriteString(xml.Header + "<!-- " + mark + " -->\n" + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" ` +
		`"http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\">\n  <dict>\n")
	line("key", "Label")
	line("string", label)
	line("key", "ProgramArguments")
	b.WriteString("    <array>\n")
	for _, a := range append([]string{s.Program}, s.Args...) {
		line("string", a)
	}
	b.WriteString("    </array>\n")
	for _, key := range []string{"RunAtLoad", "KeepAlive"} {
		line("key", key)
		b.WriteString("    <true/>\n")
	}
	line("key", "Umask")
	line("integer", "63") // 0077
	for _, key := range []string{"StandardOutPath", "StandardErrorPath"} {
		line("key", key)
		line("string", s.log())
	}
	b.WriteString("  </dict>\n</plist>\n")
	return b.String()
}
