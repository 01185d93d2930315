package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/session"
)

// A hook waits for at most a day, as long as a client lets it run.
const (
	longestWait = 24 * time.Hour
	lookAgain   = 2 * time.Second
)

// wait holds until there is a wake, and writes it where the client reads it: on standard error with the exit code 2, or as a
// line on standard output, again and again. It ends when another waits, or the client is gone; one that waits once also ends
// with the session, while one that watches goes on for the client's next session, because a client tells its model of the end.
func (p *Process) wait(ctx context.Context, call hook.Call) int {
	client := processOf(call)
	if client.PID == 0 {
		return 0 // nothing would end it
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if p.event == "wait" {
		ctx, cancel = context.WithTimeout(ctx, longestWait)
		defer cancel()
	}
	go endsWith(ctx, client, cancel)
	for ctx.Err() == nil {
		code, err := p.waitOnce(ctx, call)
		if err == nil {
			return code
		}
		if errors.Is(err, local.ErrNoDaemon) && p.Daemon != nil {
			p.start()
		}
		sleep(ctx, lookAgain)
	}
	return 0
}

// endsWith calls cancel when the client's process is gone, and returns then or when ctx ends.
func endsWith(ctx context.Context, client session.Process, cancel context.CancelFunc) {
	for ctx.Err() == nil {
		if !local.Alive(client.PID, client.Start) {
			cancel()
			return
		}
		sleep(ctx, lookAgain)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// waitOnce waits on one connection to the daemon. An error means that it was lost.
func (p *Process) waitOnce(ctx context.Context, call hook.Call) (int, error) {
	conn, err := p.place.Dial(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	op := local.Wait
	if p.event == "watch" {
		op = local.Watch
	}
	if err := conn.Send(local.Request{Op: op, Connection: p.id, Call: call, Process: processOf(call)}); err != nil {
		return 0, err
	}
	for {
		var res local.Response
		if err := conn.Receive(&res); err != nil {
			return 0, err
		}
		switch {
		case res.Over:
			return 0, nil
		case res.Line == "":
			continue
		}
		to := p.Err
		if op == local.Watch {
			to = p.Out
		}
		_, err := fmt.Fprintln(to, res.Line)
		_ = conn.Send(local.Ack{Written: err == nil})
		switch {
		case err != nil:
			return 0, nil // the client is gone
		case op == local.Wait:
			return 2, nil
		}
	}
}
