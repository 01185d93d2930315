package chaos

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/witness"
)

// sendMail sends a message to another agent.
func (a *agent) sendMail(ctx context.Context) error {
	body, to, kind := a.uniqueText("message"), a.peer().name, "STATUS"
	if a.percent(40) {
		kind = "QUERY"
	}
	var out struct{ MessageID string }
	args := map[string]any{"message": body, "source": a.name, "target": to, "message_type": kind, "idempotencyKey": body}
	call, ok, err := a.do(ctx, "send_message", 0, args, &out)
	if ok {
		a.crew.calls.Sent(a.number, span(call), out.MessageID, kind == "QUERY")
		a.book.Sent(out.MessageID, a.name, to, kind, body)
	}
	return err
}

type message struct {
	ID          string
	MessageType string `json:"message_type"`
	Again       bool
}

// receipts are those that an agent has got for mail that it read, and has not passed on yet. They are safe for concurrent use;
// the zero value has none.
type receipts struct {
	mu   sync.Mutex
	held []receipt
}

type receipt struct {
	id       string
	messages []string
}

func (r *receipts) put(one receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.id != "" {
		r.held = append(r.held, one)
	}
}

// take takes the oldest receipt, the zero one if there is none.
func (r *receipts) take() (one receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) > 0 {
		one, r.held = r.held[0], r.held[1:]
	}
	return one
}

func (r *receipts) none() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.held) == 0
}

// readMail waits for messages without taking them, then takes them, sometimes with two concurrent readers, and
// acknowledges the messages that require it.
func (a *agent) readMail(ctx context.Context) error {
	wait := a.wait()
	var peeked struct{ Messages []message }
	args := map[string]any{"markAsRead": false, "limit": 1, "waitMs": wait.Milliseconds()}
	if _, ok, err := a.do(ctx, "get_messages", wait, args, &peeked); !ok {
		return err
	}
	readers := 1
	if a.percent(25) {
		readers = 2
	}
	wait = 0
	if a.percent(10) {
		wait = 300 * time.Millisecond
	}
	found, errs := make([][]message, readers), make([]error, readers)
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() { found[i], errs[i] = a.take(ctx, 5, wait) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var ids []string
	for _, m := range slices.Concat(found...) {
		if m.MessageType == "QUERY" {
			ids = append(ids, m.ID)
		}
	}
	return a.ack(ctx, ids)
}

// take takes messages from the inbox. With receipts a read confirms an earlier one.
func (a *agent) take(ctx context.Context, limit int, wait time.Duration) ([]message, error) {
	release, err := a.run.limits.acquire(ctx, relayMail)
	if err != nil {
		return nil, err
	}
	defer release()
	args := map[string]any{"limit": limit, "waitMs": wait.Milliseconds()}
	earlier := a.receipts.take()
	if a.confirms {
		args["confirm"] = true
	}
	if earlier.id != "" {
		args["receipt"] = earlier.id
	}
	var out struct {
		Messages []message
		Receipt  string
	}
	call, ok, err := a.do(ctx, "get_messages", wait, args, &out)
	a.noteLostReads(call)
	if !ok {
		a.receipts.put(earlier) // it may have reached no server
		return nil, err
	}
	for _, id := range earlier.messages {
		a.book.Confirmed(id, call.Ended())
	}
	next := receipt{id: out.Receipt}
	for _, m := range out.Messages {
		next.messages = append(next.messages, m.ID)
		a.crew.calls.Read(a.number, span(call), m.ID, m.Again)
		a.book.Read(m.ID, a.name, call.RequestID(), m.Again, witness.Span{From: call.Began(), To: call.Ended()})
	}
	a.receipts.put(next)
	return out.Messages, nil
}

// giveUp waits for messages and closes the connection before the wait is over. Messages that came in between are kept.
func (a *agent) giveUp(ctx context.Context) error {
	own, cancel := context.WithTimeoutCause(ctx, time.Duration(50+a.random.IntN(400))*time.Millisecond, errGivenUp)
	defer cancel()
	_, err := a.take(own, 1, 5*time.Second)
	if errors.Is(err, errGivenUp) {
		a.run.report.gaveUp()
		return nil
	}
	return err
}

var errGivenUp = errors.New("the agent has given up its wait")

// noteLostReads records the attempts of a reading call that got no answer.
func (a *agent) noteLostReads(call caller.Call) {
	for _, t := range call.Unsure() {
		to := call.Ended()
		if t.Silent {
			to = to.Add(a.run.options.Slack)
		}
		a.book.LostRead(a.name, witness.Span{From: t.Began, To: to})
	}
}

func (a *agent) ack(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var out struct{ Acked, NotFound []string }
	call, ok, err := a.do(ctx, "ack_messages", 0, map[string]any{"messageIds": ids}, &out)
	if !ok {
		return err
	}
	if len(out.NotFound) > 0 || len(out.Acked) != len(ids) {
		a.book.Violate(witness.Kept, call.RequestID(),
			"%s acknowledged the messages %v that it had read; the answer was acked %v, not found %v",
			a.name, ids, out.Acked, out.NotFound)
	}
	for _, id := range out.Acked {
		a.book.Acked(id)
	}
	return nil
}

// drainMail takes the rest of the inbox and then reads the delivered messages.
func (a *agent) drainMail(ctx context.Context) error {
	for known := map[string]bool{}; ; {
		found, err := a.take(ctx, 50, 0)
		if err != nil {
			return err
		}
		before := len(known)
		for _, m := range found {
			known[m.ID] = true
		}
		if len(known) == before && a.receipts.none() { // nothing new; the book reports a repeated delivery
			break
		}
	}
	for cursor := ""; ; {
		var out struct {
			Messages   []message
			NextCursor string
		}
		args := map[string]any{"includeDelivered": true, "limit": 50}
		if cursor != "" {
			args["cursor"] = cursor
		}
		if _, ok, err := a.do(ctx, "get_messages", 0, args, &out); !ok {
			return err
		}
		for _, m := range out.Messages {
			a.book.Shown(m.ID)
		}
		if cursor = out.NextCursor; cursor == "" {
			return nil
		}
	}
}
