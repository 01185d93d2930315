package process

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/remote"
	"parley.internal/services/hub/internal/hook/session"
)

// The times for an answer of the person. Codex hides its own prompt meanwhile.
const (
	answerTime      = 5 * time.Minute
	codexAnswerTime = 25 * time.Second
	oneWait         = 50 * time.Second
	// askTime is the time for the question to reach the server. Without it nobody is rung, and the client asks at once.
	askTime = 3 * time.Second
	// backFor is the time for taking the question back, with which the client's limit for the hook is not reached.
	backFor = 1500 * time.Millisecond
	// firstPause and longestPause are the times between two looks at a server that is away.
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// permission answers a permission request by the person's rules, or asks the person. Without an answer in time nothing is said,
// and the client asks by itself; the question is taken back then, and where the client needs its answer no longer.
func (p *Process) permission(ctx context.Context, call hook.Call) int {
	hub, err := p.connect(ctx)
	if err != nil || !p.conn.Permissions.On {
		return 0
	}
	id := p.session(call)
	s := session.State{Connection: p.id}
	p.place.LoadSession(id, &s, time.Now())
	if s.Pause != nil {
		return 0
	}
	same := hook.Same(call)
	switch hook.Rule(call, p.conn.Permissions.Allow, p.conn.Permissions.Deny) {
	case hook.Denied:
		p.print(call.Permit(false, "Refused by a rule that your user gave to Parley."))
		return 0
	case hook.Allowed:
		p.print(call.Permit(true, ""))
		return 0
	}
	if same != "" && p.place.Marked(id, local.Allowed, local.Sum(same)) {
		p.print(call.Permit(true, ""))
		return 0
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // a client that needs no answer any more
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience(call.Client, p.conn.Permissions.Timeout))
	defer cancel()
	if client := processOf(call); client.PID != 0 {
		go endsWith(ctx, client, cancel)
	}
	who := s.SessionID
	if who == "" {
		who = p.conn.Program
	}
	a, err := p.rings(ctx, hub, call, who)
	if err != nil || a.Status != "answered" {
		return 0
	}
	reply, session := hook.Decide(call, a.Response, a.By)
	if session && same != "" {
		_ = p.place.Mark(id, local.Allowed, local.Sum(same)) // else the person is asked again
	}
	p.print(reply)
	return 0
}

// patience returns how long a person has for an answer.
func patience(client string, seconds int) time.Duration {
	limit := answerTime
	if client == "codex" {
		limit = codexAnswerTime
	}
	if seconds > 0 && (client != "codex" || time.Duration(seconds)*time.Second < limit) {
		limit = time.Duration(seconds) * time.Second
	}
	return limit
}

// rings asks the person and waits for the answer until ctx ends; then it takes the question back, unless an answer came before
// that. Once the person has been asked, a server that is away or restarts is waited for: the question is still there when it is
// back.
func (p *Process) rings(ctx context.Context, hub *remote.Hub, call hook.Call, who string) (remote.Answer, error) {
	question, about := hook.Question(call, who)
	end, _ := ctx.Deadline()
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime) // so that its id is known, and it is taken back
	defer cancel()
	a, err := hub.Ask(asking, remote.Question{Question: question, Options: hook.Options(), Context: about, Priority: "high",
		Tell:      new(bool), // the hook takes the answer
		Assurance: p.conn.Permissions.Asked(),
		TTL:       int64((time.Until(end) + backFor).Seconds()) + 1}) // where it cannot be taken back, it ends with the hook
	if err != nil {
		return a, err
	}
	asked := hook.Asked{Question: a.QuestionID, About: call.About, Agent: call.Agent}
	defer p.guarded(call, asked.String())()
	for pause := firstPause; a.Status == "pending" && ctx.Err() == nil; {
		next, err := answerOf(ctx, hub, asked.Question)
		var refusal *remote.Error
		switch {
		case err == nil:
			a, pause = next, firstPause
		case errors.As(err, &refusal) && refusal.Refused():
			return a, err
		default:
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		}
	}
	if a.Status != "pending" {
		return a, nil
	}
	reason := hook.TooLate
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = hook.Settled
	}
	back, cancelBack := context.WithTimeout(context.WithoutCancel(ctx), backFor)
	defer cancelBack()
	return hub.Withdraw(back, asked.Question, reason)
}

// guarded notes that the person was asked, for the hooks that tell of the client's going on, and for the daemon, which takes the
// question back if this process is killed. The function that is returned ends both.
func (p *Process) guarded(call hook.Call, asked string) (end func()) {
	id := p.session(call)
	dialing, cancel := context.WithTimeout(context.Background(), Budget)
	defer cancel()
	conn, err := p.place.Dial(dialing)
	if err == nil {
		_ = conn.SetDeadline(time.Now().Add(Budget))
		_ = conn.Send(local.Request{Op: local.Guard, Connection: p.id, Call: hook.Call{Thread: call.Thread}, Asked: asked})
	}
	_ = p.place.Mark(id, local.Asked, asked) // without it the question ends with this process alone
	return func() {
		p.place.Unmark(id, local.Asked, asked)
		if conn != nil {
			_ = conn.SetDeadline(time.Now().Add(Budget))
			_ = conn.Send(local.Ack{})
			_ = conn.Close()
		}
	}
}

// answerOf waits once for the answer to a question. A server that says nothing for longer than that is away.
func answerOf(ctx context.Context, hub *remote.Hub, id string) (remote.Answer, error) {
	end, _ := ctx.Deadline()
	wait := max(100*time.Millisecond, min(oneWait, time.Until(end)-time.Second))
	ctx, cancel := context.WithTimeout(ctx, wait+askTime)
	defer cancel()
	return hub.Response(ctx, id, wait)
}
