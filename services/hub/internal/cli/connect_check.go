package cli

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/services/hub/internal/printable"
)

// checkPatience is the time limit of a client's own check.
const checkPatience = 60 * time.Second

// The lines of a list of servers: the one with that of Parley, and one that is not reached.
var (
	listed = regexp.MustCompile(`^[^\pL\pN]*` + connect.Server + `\b`)
	down   = regexp.MustCompile(`(?i)[✘✗]|failed|disconnected`)
)

// verify starts the client's own check.
func (j *connector) verify(ctx context.Context, c connect.Client, p connect.Place, key string, s connect.Setup, r *connectReport) {
	r.Next = c.Next
	if c.Lacks != "" {
		r.todo("limits", c.Lacks)
	}
	if s.Hook != "" {
		j.tryHook(ctx, c, p, key, s, r)
	}
	if !c.Installed() {
		r.todo("check", c.Title+" is not installed in PATH; its settings are written all the same")
		return
	}
	if c.Name == "claude" && !p.User() && !connect.ClaudeTrusts(p) {
		r.todo("trust", "start `claude` here once and trust the directory: until then it asks for no key, so the tools of Parley are "+
			"missing, while the hooks of `claude -p` work")
		return
	}
	if len(c.Check) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Program, c.Check...)
	cmd.Dir, cmd.WaitDelay = cmp.Or(p.Root, p.Home), time.Second
	cmd.Env = append(os.Environ(), "HOME="+p.Home)
	text, err := cmd.CombinedOutput()
	what := c.Program + " " + strings.Join(c.Check, " ")
	for line := range strings.Lines(string(text)) {
		line = printable.Line(strings.TrimSpace(strings.ReplaceAll(line, key, "…")))
		if !listed.MatchString(line) {
			continue
		}
		if down.MatchString(line) {
			r.todo("check", what+" says: "+line+"; trust the directory where the client asks, and run this again")
			return
		}
		r.done("check", what+" says: "+line)
		return
	}
	if err != nil {
		r.todo("check", what+" failed: "+printable.Line(err.Error()))
		return
	}
	r.todo("check", what+" does not list the server yet; trust the directory where the client asks")
}
