package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/remote"
	"parley.internal/services/hub/internal/hook/session"
	"parley.internal/services/hub/internal/keyring"
)

// The budgets of a call: in the middle of a session, at its start, and before an edit in a strict project, which fails without
// an answer.
const (
	Budget       = 250 * time.Millisecond
	StartBudget  = 2 * time.Second
	StrictBudget = 2 * time.Second
)

// Usage is the synopsis of the program.
const Usage = "usage: parley-hook CLIENT EVENT --connection ID, with the client's JSON on standard input"

// Variable is the environment variable that keeps hooks from starting a daemon: PARLEY_CONNECTD=off.
const Variable = "PARLEY_CONNECTD"

// Process is one run of a hook.
type Process struct {
	Env      func(string) string
	In       io.Reader
	Out, Err io.Writer
	// Daemon is the command that starts the daemon, nil where none is started.
	Daemon []string
	// Client sends the requests to the server; the default is one of its own.
	Hub func(connection.Connection, string) *remote.Hub
	// Slack is added to each budget. A test that is about an answer, and not about its time, sets it, because its machine
	// may be busy.
	Slack time.Duration

	client, event, id string
	conn              connection.Connection
	place             local.Place
	deadline          time.Time
}

// Run runs a hook with the arguments of the command line and returns the exit code.
func (p *Process) Run(ctx context.Context, args []string) int {
	begun := time.Now()
	if err := p.arguments(args); err != nil {
		fmt.Fprintln(p.Err, "parley-hook:", err)
		return 1 // only a person's mistake on the command line comes here; 2 would block the client
	}
	stdin, err := p.read()
	if err != nil {
		return 0
	}
	if len(stdin) > hook.MaxInput {
		return p.large(ctx, io.MultiReader(bytes.NewReader(stdin), p.In))
	}
	waits := p.event == "wait" || p.event == "watch"
	if waits && p.client == "claude" && hook.HeadlessClaude(p.Env) {
		return 0
	}
	event := p.event
	if waits {
		event = "Stop" // a waiter is no event; its input names the session
	}
	call, err := hook.Parse(p.client, event, stdin, p.Env)
	if err != nil || call.Kind == hook.Nothing {
		return 0
	}
	if p.place, err = local.Find(p.Env); err != nil {
		return 0
	}
	describe(&call, p.Env)
	if waits {
		return p.wait(ctx, call)
	}
	if call.Kind == hook.Permission {
		return p.permission(ctx, call)
	}
	p.deadline = begun.Add(budget(call.Kind) + p.Slack)
	ctx, cancel := context.WithDeadline(ctx, p.deadline)
	defer cancel()
	return p.answer(ctx, call)
}

// read reads the client's input, for which it has the time of a session's start: a client that leaves its end open holds up
// nothing.
func (p *Process) read() ([]byte, error) {
	type input struct {
		text []byte
		err  error
	}
	got := make(chan input, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(p.In, hook.MaxInput+1))
		got <- input{text, err}
	}()
	select {
	case in := <-got:
		return in.text, in.err
	case <-time.After(StartBudget + p.Slack):
		return nil, os.ErrDeadlineExceeded
	}
}

// large answers a call before a tool whose input is too large to be read whole, so that a pause holds for it too. Other
// calls of that size are passed over.
func (p *Process) large(ctx context.Context, in io.Reader) int {
	call, err := hook.ParseHead(p.client, p.event, in, p.Env)
	if err != nil || call.Kind != hook.Before {
		return 0
	}
	if p.place, err = local.Find(p.Env); err != nil {
		return 0
	}
	p.deadline = time.Now().Add(Budget + p.Slack) // the time for reading is the client's
	ctx, cancel := context.WithDeadline(ctx, p.deadline)
	defer cancel()
	return p.answer(ctx, call)
}

// budget returns the time for a call. That of an edit is the larger one; who answers keeps to the smaller one where the project
// is not strict.
func budget(k hook.Kind) time.Duration {
	switch k {
	case hook.Start, hook.Resume, hook.Compacted:
		return StartBudget
	case hook.Edit:
		return StrictBudget
	}
	return Budget
}

// arguments takes the command line apart.
func (p *Process) arguments(args []string) error {
	var words []string
	for i := 0; i < len(args); i++ {
		switch name, value, given := strings.Cut(args[i], "="); {
		case name != "--connection":
			words = append(words, args[i])
		case given:
			p.id = value
		case i+1 < len(args):
			i++
			p.id = args[i]
		default:
			return errors.New(Usage)
		}
	}
	if len(words) != 2 {
		return errors.New(Usage)
	}
	p.client, p.event = words[0], words[1]
	return nil
}

// answer asks the daemon, or the server where there is none.
func (p *Process) answer(ctx context.Context, call hook.Call) int {
	conn, err := p.place.Dial(ctx)
	if errors.Is(err, local.ErrNoDaemon) {
		conn, err = p.begin(ctx, call)
	}
	if err != nil {
		return p.direct(ctx, call)
	}
	defer conn.Close()
	_ = conn.SetDeadline(p.deadline)
	req := local.Request{Op: local.Hook, Connection: p.id, Call: call, Budget: time.Until(p.deadline).Milliseconds(),
		Env: p.environment(call)}
	if call.Kind == hook.Start || call.Kind == hook.Resume {
		req.Process, req.Terminal = processOf(call), local.Terminal()
	}
	var res local.Response
	if conn.Send(req) != nil || conn.Receive(&res) != nil {
		return p.remembered(call)
	}
	if !p.print(res.Reply) || res.Receipt == "" {
		return res.Code
	}
	_ = conn.SetDeadline(time.Now().Add(Budget + p.Slack))
	var noted local.Noted
	if conn.Send(local.Ack{Written: true}) != nil || conn.Receive(&noted) != nil || !noted.Noted {
		_ = p.place.Mark(p.session(call), local.Shown, res.Receipt) // else it comes again, and says so
	}
	return res.Code
}

func (p *Process) session(call hook.Call) string { return local.ID(p.id, call.Thread) }

// environment returns the variables that the daemon needs to reach the client.
func (p *Process) environment(call hook.Call) map[string]string {
	if call.Client != "codex" || call.Kind != hook.Start && call.Kind != hook.Resume && call.Kind != hook.Prompt {
		return nil
	}
	out := map[string]string{}
	for _, name := range []string{"HOME", "PATH", "CODEX_HOME", "TMPDIR", "LANG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		if v := p.Env(name); v != "" && len(v) < 8<<10 {
			out[name] = v
		}
	}
	return out
}

// processOf returns the client's process.
func processOf(call hook.Call) session.Process {
	pid := call.PID
	if pid == 0 {
		pid = local.Ancestor(call.Client)
	}
	if pid == 0 {
		return session.Process{}
	}
	return session.Process{PID: pid, Start: local.Started(pid)}
}

// print writes a reply without a buffer, and reports whether all of it was written.
func (p *Process) print(r hook.Reply) bool {
	ok := true
	for _, out := range []struct {
		to   io.Writer
		text string
	}{{p.Out, r.Stdout}, {p.Err, r.Stderr}} {
		if out.text == "" {
			continue
		}
		_, err := io.WriteString(out.to, out.text)
		ok = ok && err == nil
	}
	return ok
}

// connect reads the connection and finds its key.
func (p *Process) connect(ctx context.Context) (*remote.Hub, error) {
	var err error
	if p.conn, err = connection.Read(p.place.Connections, p.id); err != nil {
		return nil, err
	}
	key, err := Key(ctx, p.conn, p.Env)
	if err != nil {
		return nil, err
	}
	if p.Hub != nil {
		return p.Hub(p.conn, key), nil
	}
	return &remote.Hub{URL: p.conn.URL, Key: key}, nil
}

// Key returns the key of a connection: that of its file, or else that of the keyring.
func Key(ctx context.Context, c connection.Connection, env func(string) string) (string, error) {
	if c.Key != "" {
		return c.Key, nil
	}
	if c.Account == "" {
		return "", fmt.Errorf("the connection %s has no key; make it again with `parley connect`", c.ID)
	}
	ring, err := keyring.Open(env)
	if err != nil {
		return "", err
	}
	return ring.Find(ctx, c.Account)
}

// slack is set by the linker for tests with real clients, whose machine may be busy. It is empty in a program that ships.
var slack string

// Slack returns the time that this program adds to each budget, which is zero but in tests.
func Slack() time.Duration {
	d, _ := time.ParseDuration(slack)
	return d
}

// Own returns the process of this environment, which starts the daemon with the program beside it, or with itself where it is
// that program.
func Own(env func(string) string, in io.Reader, out, errOut io.Writer) *Process {
	p := &Process{Env: env, In: in, Out: out, Err: errOut, Slack: Slack()}
	if env(Variable) != "off" {
		if program, err := os.Executable(); err == nil {
			p.Daemon = daemonOf(program)
		}
	}
	return p
}
