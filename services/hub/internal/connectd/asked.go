package connectd

import (
	"context"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
)

// lastFor is the time for a call of the server that is made also while the daemon ends.
const lastFor = 5 * time.Second

// guard holds while a process waits for the person's answer to a permission request, and takes the question back where the
// process ends without a word, because its client has killed it.
func (d *Daemon) guard(conn *local.Conn, req local.Request) {
	var ack local.Ack
	if conn.Receive(&ack) == nil || d.ctx.Err() != nil {
		return
	}
	d.takeBack(req.Connection, local.ID(req.Connection, req.Call.Thread), req.Asked, hook.Settled)
}

// settle takes back, beside the answer to the hook, the questions about permission requests that an event shows to be settled in
// the client. The caller holds the session.
func (s *session) settle(call hook.Call) {
	if !call.Kind.May() {
		return
	}
	words, reason := call.Settles(s.daemon.place.Marks(s.id, local.Asked))
	conn := s.st.Connection
	for _, word := range words {
		s.daemon.work.Go(func() { s.daemon.takeBack(conn, s.id, word, reason) })
	}
}

// takeBack withdraws the question of a permission request. One that the server cannot be told of expires by itself, with the time
// of the hook that put it.
func (d *Daemon) takeBack(conn, id, word, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), lastFor)
	defer cancel()
	c, err := connection.Read(d.place.Connections, conn)
	if err != nil {
		return
	}
	h, err := d.reach(ctx, c)
	if err != nil {
		d.log("a question that was settled in the client stays open: %v", err)
		return
	}
	if h.TakesBack(ctx, word, reason) {
		d.place.Unmark(id, local.Asked, word)
	}
}
