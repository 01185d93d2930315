package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
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

// tryHook runs the hook as the client does, for a session that begins and ends: it tells the agent who it is if key,
// server and hook work together. It would also take the mail that waits, so it is not run where there is some.
func (j *connector) tryHook(ctx context.Context, c connect.Client, p connect.Place, key string, s connect.Setup, r *connectReport) {
	if none, err := noMail(ctx, s.Endpoint, key); err != nil || !none {
		r.done("hook", "not tried, because it would take the mail that waits for the agent")
		return
	}
	session, said := "parley-connect-"+strings.ToLower(rand.Text()[:8]), ""
	for _, event := range []string{"SessionStart", "SessionEnd"} {
		in, err := json.Marshal(map[string]string{"session_id": session, "cwd": cmp.Or(p.Root, p.Home), "hook_event_name": event,
			"source": "startup", "reason": "other"})
		if err != nil {
			return
		}
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		cmd := exec.CommandContext(one, s.Hook, c.Name, event, "--connection", s.ID)
		cmd.Dir, cmd.WaitDelay, cmd.Stdin = cmp.Or(p.Root, p.Home), time.Second, bytes.NewReader(in)
		cmd.Env = append(os.Environ(), "HOME="+p.Home)
		out, err := cmd.Output()
		cancel()
		if err != nil {
			r.todo("hook", event+" failed: "+printable.Line(err.Error())+"; the client goes on without it")
			return
		}
		if event == "SessionStart" {
			said = contextOf(out)
		}
	}
	if said == "" {
		r.todo("hook", "it says nothing at a session's start; is the server one that answers hooks (POST /v1/hook)?")
		return
	}
	line, _, _ := strings.Cut(said, "\n")
	if text := []rune(line); len(text) > 100 {
		line = string(text[:99]) + "…"
	}
	r.done("hook", "a session's start tells the agent: "+printable.Line(line))
}

// noMail reports whether no mail waits for the program of a key. A read-only endpoint marks nothing as read.
func noMail(ctx context.Context, endpoint, key string) (bool, error) {
	base, err := baseURL(endpoint)
	if err != nil {
		return false, err
	}
	_, answer, err := post(ctx, base+"/mcp/x/relay/readonly", key,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_messages","arguments":{}}}`)
	if err != nil {
		return false, err
	}
	var got struct {
		Result struct {
			StructuredContent struct {
				Messages []json.RawMessage `json:"messages"`
			} `json:"structuredContent"`
			IsError bool `json:"isError"`
		} `json:"result"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(answer, &got); err != nil || got.Error != nil || got.Result.IsError ||
		got.Result.StructuredContent.Messages == nil {
		return false, errors.New("the server does not tell whether mail waits")
	}
	return len(got.Result.StructuredContent.Messages) == 0, nil
}

// contextOf returns what an answer of a hook gives to the model.
func contextOf(out []byte) string {
	var answer struct {
		HookSpecificOutput struct {
			AdditionalContext string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(out, &answer) != nil {
		return strings.TrimSpace(string(out)) // plain text at a session's start is context too
	}
	return strings.TrimSpace(answer.HookSpecificOutput.AdditionalContext)
}
