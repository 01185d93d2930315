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
	"slices"
	"strings"
	"time"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/services/hub/internal/printable"
	"parley.internal/shared/client"
	"parley.internal/shared/me"
	"parley.internal/shared/relay"
	"parley.internal/shared/sleep"
)

// trial runs the hook of a connection as its client does, for one session.
type trial struct {
	client  connect.Client
	place   connect.Place
	setup   connect.Setup
	session string
}

// promptEvents are the events of each client with which a person's prompt begins a turn.
var promptEvents = map[string]string{"claude": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}

// tryHook runs the hook for a session that begins, sends itself a message, reads it and ends: so the agent is told its
// address and gets its mail if key, server and hook work together. It would also take the agent's unread mail, so it is
// not run where there is any.
func (j *connector) tryHook(ctx context.Context, c connect.Client, p connect.Place, key string, s connect.Setup, r *connectReport) {
	if lacks := hookless(ctx, s.Endpoint, key); lacks != "" {
		r.todo("hook", lacks+", so the hooks do nothing while the MCP entry works; take this back with --remove and connect again, "+
			"with read and write approved")
		return
	}
	none, err := noMail(ctx, s.Endpoint, key)
	if err != nil {
		r.todo("hook", "not tried, because it would take mail that waits, and whether there is any is not known: "+
			printable.Line(err.Error()))
		return
	}
	if !none {
		r.done("hook", "not tried, because it would take the mail that waits for the agent")
		return
	}
	t := trial{c, p, s, "parley-connect-" + strings.ToLower(rand.Text()[:8])}
	said, err := t.run(ctx, "SessionStart")
	if err != nil {
		r.todo("hook", "SessionStart failed: "+printable.Line(err.Error())+"; the client goes on without it")
		return
	}
	defer func() {
		if _, err := t.run(ctx, "SessionEnd"); err != nil {
			r.todo("hook", "SessionEnd failed: "+printable.Line(err.Error())+"; the client goes on without it")
		}
	}()
	if said == "" {
		r.todo("hook", "it says nothing at a session's start; is the server one that answers hooks (POST /v1/hook)?")
		return
	}
	line, _, _ := strings.Cut(said, "\n")
	if text := []rune(line); len(text) > 100 {
		line = string(text[:99]) + "…"
	}
	r.done("hook", "a session's start tells the agent: "+printable.Line(line))
	if m := ownAddress.FindStringSubmatch(said); m != nil && promptEvents[c.Name] != "" {
		if err := t.mail(ctx, key, m[1]); err != nil {
			r.todo("mail", "a message of "+m[1]+" to itself does not come through the hook: "+printable.Line(err.Error()))
			return
		}
		r.done("mail", "a message of "+m[1]+" to itself came through the hook")
	}
}

// ownAddress finds the address of a session in the text of its start.
var ownAddress = regexp.MustCompile(`You are (\S+/\d+),`)

// The message of a trial, the seconds for which it is wanted, and the time in which it must come.
const (
	trialMessage = "parley connect sends this to itself, to see that mail comes."
	trialTTL     = 60
	trialLimit   = 5 * time.Second
)

// mail sends the session a message in its own name, and returns nil when a hook has shown it.
func (t trial) mail(ctx context.Context, key, address string) error {
	base, err := baseURL(t.setup.Endpoint)
	if err != nil {
		return err
	}
	agent, err := client.New(base, key)
	if err != nil {
		return err
	}
	_, err = agent.SendMessage(ctx, relay.SendInput{Target: address, MessageType: "STATUS", Message: trialMessage,
		SessionID: address, TTL: trialTTL})
	if err != nil {
		return err
	}
	for end := time.Now().Add(trialLimit); time.Now().Before(end); {
		said, err := t.run(ctx, promptEvents[t.client.Name])
		if err != nil || strings.Contains(said, trialMessage) {
			return err
		}
		if err := sleep.For(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("it was sent, and no hook shows it")
}

// run runs the hook for an event and returns the text that it gives to the model.
func (t trial) run(ctx context.Context, event string) (said string, err error) {
	dir := cmp.Or(t.place.Root, t.place.Home)
	in, err := json.Marshal(map[string]string{"session_id": t.session, "cwd": dir, "hook_event_name": event, "source": "startup",
		"reason": "other", "prompt": "hello"})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.setup.Hook, t.client.Name, event, "--connection", t.setup.ID)
	cmd.Dir, cmd.WaitDelay, cmd.Stdin = dir, time.Second, bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "HOME="+t.place.Home)
	out, err := cmd.Output()
	return contextOf(out), err
}

// hookless returns why a key cannot use the hooks by its scopes, empty if it can or the server does not say.
func hookless(ctx context.Context, endpoint, key string) string {
	base, err := baseURL(endpoint)
	if err != nil {
		return ""
	}
	c, err := agent(base, key)
	if err != nil {
		return ""
	}
	who, err := c.Whoami(ctx, me.Input{})
	switch {
	case err != nil:
		return ""
	case !slices.Contains(who.Toolsets, "hook"):
		return "hooks need the toolset hook, and this key has the scopes " + strings.Join(who.Scopes, ", ")
	case who.ReadOnly:
		return "hooks need to write, and this key only reads"
	}
	return ""
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

// contextOf returns the text that an answer of a hook gives to the model.
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
