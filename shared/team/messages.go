package team

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// The types of messages.
const (
	plain            = "message"
	broadcast        = "broadcast"
	askShutdown      = "shutdown_request"
	answerShutdown   = "shutdown_response"
	answerPlan       = "plan_approval_response"
	planApproved     = "plan_approved"
	planRejected     = "plan_rejected"
	shutdownRejected = "shutdown_rejected"
)

// check returns Invalid for an unknown type and for a message without a field that its type
// requires.
func (in *SendInput) check() error {
	blank := func(s string) bool { return strings.TrimSpace(s) == "" }
	need := func(ok bool, message string) error {
		if ok {
			return nil
		}
		return fault.New(fault.Invalid, "%s", message)
	}
	switch in.Type {
	case plain:
		if err := need(!blank(in.Content), "Message content must not be empty"); err != nil {
			return err
		}
		if err := need(!blank(in.Summary), "Message summary must not be empty"); err != nil {
			return err
		}
		return need(in.Recipient != "", "Message recipient must not be empty")
	case broadcast:
		return need(!blank(in.Summary), "Broadcast summary must not be empty")
	case askShutdown:
		if err := need(in.Recipient != "", "Shutdown request recipient must not be empty"); err != nil {
			return err
		}
		return need(!identity.Same(in.Recipient, Lead), "Cannot send shutdown request to team-lead")
	case answerShutdown:
		in.Recipient = Lead
		return nil
	case answerPlan:
		return need(in.Recipient != "", "Plan approval recipient must not be empty")
	}
	return fault.New(fault.Invalid, "Unknown message type: %s", in.Type)
}

// Send adds a message to the inbox of one member, or of all members but the sender. A message
// that lacks a required field is Invalid, a team or recipient that does not exist NotFound,
// and a sender that the key may not speak as Forbidden.
func (s *Service) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	if err := checkName(in.TeamName); err != nil {
		return SendOutput{}, err
	}
	if err := in.check(); err != nil {
		return SendOutput{}, err
	}
	now := s.Now()
	if in.Type != broadcast { // each message changes the number of the last in its inbox
		ctx = store.InTurn(ctx, inboxes.Name+"/"+memberID(in.TeamName, identity.Fold(in.Recipient)))
	}
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(ctx context.Context, tx *store.Tx) (SendOutput, error) {
		if in.Type == broadcast {
			return s.broadcast(ctx, tx, c, in, now)
		}
		mail, fetches := newDelivery(in.TeamName, in.Recipient)
		d, err := load(ctx, tx, in.TeamName, fetches...)
		if err != nil {
			return SendOutput{}, err
		}
		from, err := d.speaker(c, in.Sender)
		if err != nil {
			return SendOutput{}, err
		}
		if d.Member(in.Recipient) == nil {
			return SendOutput{}, fault.New(fault.NotFound, "Recipient %s is not a member of team %s", in.Recipient,
				in.TeamName)
		}
		if mail, err = d.deliverTo(ctx, tx, mail, in.Recipient); err != nil {
			return SendOutput{}, err
		}
		in.Recipient = d.spelling(in.Recipient)
		m, out, err := in.compose(d, from, now)
		if err != nil {
			return SendOutput{}, err
		}
		m.From, m.By, m.Timestamp, m.Color = from, person(c), stamp(now), d.colorOf(from)
		mail.send(tx, in.Recipient, m)
		mail.close(tx)
		out.Success = true
		return out, nil
	})
}

// compose returns the message to one recipient and the answer to its sender.
func (in *SendInput) compose(d *document, from string, now time.Time) (m Message, out SendOutput, err error) {
	switch in.Type {
	case plain:
		m.Text, m.Summary = in.Content, in.Summary
		out.Message = "Message sent to " + in.Recipient
		out.Routing = &Routing{Sender: from, Target: in.Recipient, TargetColor: d.colorOf(in.Recipient),
			Summary: in.Summary, Content: in.Content}
	case askShutdown:
		id := fmt.Sprintf("shutdown-%d@%s", now.UnixMilli(), in.Recipient)
		m.Text, m.Summary = payload(shutdownRequest{askShutdown, id, from, in.Content, stamp(now)}), in.Summary
		out.Message, out.RequestID, out.Target = "Shutdown request sent to "+in.Recipient, id, in.Recipient
	case answerShutdown:
		member, err := d.teammate(from)
		if err != nil {
			return m, out, err
		}
		m.Text, m.Summary = or(in.Content, "Shutdown rejected"), or(in.Summary, shutdownRejected)
		out.Message = "Shutdown rejected by " + from
		if in.Approve {
			m.Text, m.Summary = payload(shutdownApproved{"shutdown_approved", in.RequestID, from, stamp(now),
				member.TmuxPaneID, deref(member.BackendType)}), in.Summary
			out.Message = "Shutdown approved by " + from + ". process_shutdown_approved ends its process."
		}
		out.RequestID, out.Target = in.RequestID, Lead
	case answerPlan:
		m.Text, m.Summary = or(in.Content, "Plan rejected"), or(in.Summary, planRejected)
		out.Message, out.Target = "Plan rejected for "+in.Recipient, in.Recipient
		if in.Approve {
			m.Text, m.Summary = payload(planApproval{"plan_approval", true}), planApproved
			out.Message = "Plan approved for " + in.Recipient
		}
	}
	return m, out, nil
}

func or(s, def string) string {
	if strings.TrimSpace(s) == "" {
		return def
	}
	return s
}

func (d *document) colorOf(name string) string {
	if m := d.Member(name); m != nil {
		return m.color()
	}
	return ""
}

// copyCost is the approximate number of bytes of a copy of a broadcast without its texts, with its index entries.
const copyCost = 2 << 10

// broadcast sends a message to every member but its sender. A message whose copies are together over maxBatch bytes, more
// than one transaction should write, is Precondition.
func (s *Service) broadcast(ctx context.Context, tx *store.Tx, c identity.Caller, in SendInput,
	now time.Time) (SendOutput, error) {
	d, err := load(ctx, tx, in.TeamName)
	if err != nil {
		return SendOutput{}, err
	}
	from, err := d.speaker(c, in.Sender)
	if err != nil {
		return SendOutput{}, err
	}
	others := slices.DeleteFunc(d.names(), func(name string) bool { return name == from })
	out := SendOutput{Success: true, Message: fmt.Sprintf("Broadcast sent to %d member(s)", len(others)),
		Recipients: others}
	if len(others) == 0 {
		return out, nil
	}
	if size := len(others) * (len(in.Content) + len(in.Summary) + copyCost); size > maxBatch {
		return SendOutput{}, fault.New(fault.Precondition, "the broadcast is too long for %d members: with the content and "+
			"the summary it may have at most %d bytes, not %d; shorten it, or send it to each member that needs it",
			len(others), maxBatch/len(others)-copyCost, len(in.Content)+len(in.Summary))
	}
	mail, fetches := newDelivery(in.TeamName, others...)
	if err := store.Load(ctx, tx, fetches...); err != nil {
		return SendOutput{}, err
	}
	mail.open(d)
	for _, name := range others {
		mail.send(tx, name, Message{From: from, By: person(c), Text: in.Content, Timestamp: stamp(now),
			Summary: in.Summary, Color: d.colorOf(from)})
	}
	mail.close(tx)
	return out, nil
}

// mayRead reports whether an inbox is the caller's own. An inbox that the caller may not read
// is Forbidden. The lead may read every inbox, and marks messages only in its own, whatever
// mark_as_read says.
func (d *document) mayRead(c identity.Caller, agent string) (own bool, err error) {
	err = d.mayActAs(c, agent)
	if err != nil && d.founded(c) {
		return false, nil
	}
	return err == nil, err
}
