package connectd

import (
	"context"
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/process"
)

// hello is the time that a process has for its request, and margin the part of its budget that is kept for the way
// back.
const (
	hello  = 2 * time.Second
	margin = 30 * time.Millisecond
)

// serve answers one connection.
func (d *Daemon) serve(conn *local.Conn) {
	defer conn.Close()
	defer context.AfterFunc(d.ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(hello))
	var req local.Request
	if conn.Receive(&req) != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	switch req.Op {
	case local.Hook:
		d.hook(conn, req)
	case local.Wait, local.Watch:
		d.wait(conn, req)
	case local.Guard:
		d.guard(conn, req)
	case local.Status:
		_ = conn.Send(local.Response{Info: d.info()})
	case local.Stop:
		_ = conn.Send(local.Response{})
		d.stop()
	}
}

// hook answers an event, and records that its output was written.
func (d *Daemon) hook(conn *local.Conn, req local.Request) {
	s, err := d.session(req.Connection, req.Call.Thread)
	if err != nil {
		d.log("%s of %s: %v", req.Call.Event, req.Connection, err)
		_ = conn.Send(local.Response{})
		return
	}
	if most := process.StartBudget + d.Slack; req.Call.Kind != hook.Edit && req.Budget > most.Milliseconds() {
		req.Budget = most.Milliseconds()
	}
	ctx, cancel := context.WithTimeout(d.ctx, time.Duration(req.Budget)*time.Millisecond-margin)
	defer cancel()
	reply, receipt, alive := s.answer(ctx, req)
	for !alive && ctx.Err() == nil {
		if s, err = d.session(req.Connection, req.Call.Thread); err != nil {
			return
		}
		reply, receipt, alive = s.answer(ctx, req)
	}
	written := false
	if conn.Send(local.Response{Reply: reply, Receipt: receipt}) == nil && receipt != "" {
		_ = conn.SetDeadline(time.Now().Add(hello))
		var ack local.Ack
		written = conn.Receive(&ack) == nil && ack.Written
	}
	if receipt == "" {
		return
	}
	if s.shown(receipt, written) {
		_ = conn.Send(local.Noted{Noted: true})
	}
}

// info describes the daemon and its sessions.
func (d *Daemon) info() *local.Info {
	out := &local.Info{PID: pid, Since: d.since}
	for _, s := range d.all() {
		out.Sessions = append(out.Sessions, s.info())
	}
	return out
}
