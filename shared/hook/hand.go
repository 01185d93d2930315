package hook

import (
	"cmp"
	"context"
	"time"

	"parley.internal/shared/hook/wire"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// answerAgain is the time after which an answer comes again whose telling was not confirmed.
const answerAgain = 2 * time.Minute

// handover is the transaction of one call: it confirms the earlier receipt, hands over mail and answers, and records
// the new one.
type handover struct {
	*Service
	caller identity.Caller
	in     wire.HookInput
	seat   Seat
	// budget is the size that mail and answers may have, as JSON; 0 for none.
	budget  int
	next    string
	claims  []known // those that the session holds
	telling bool    // whether the output has claims

	out     *wire.HookOutput
	left    int
	answers []store.Doc[task.Task] // as they are to be stored
	hand    Handing
}

// needed reports whether there is anything to write but a heartbeat.
func (h *handover) needed(v *sight, changed bool) bool {
	if h.in.Receipt != "" || changed || !v.link.tells(h.claims) {
		return true
	}
	return h.budget > 0 && len(v.letters)+v.count(h.in, h.Now()).Answers > 0
}

// run runs the transaction. beat writes the heartbeat if it is due.
func (h *handover) run(ctx context.Context, beat func(*store.Tx)) error {
	now := h.Now()
	err := h.DB.User(h.caller.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		h.out.Mail, h.out.Answers, h.out.Receipt, h.answers, h.left = nil, nil, "", nil, h.budget
		l, found, _, err := h.sit(ctx, tx, h.caller, h.seat.Address)
		if err != nil {
			return err
		}
		if h.budget > 0 || h.in.Receipt != "" {
			if err := h.tell(ctx, tx, now); err != nil {
				return err
			}
			if err := h.read(ctx, tx); err != nil {
				return err
			}
		}
		if len(h.out.Mail)+len(h.out.Answers) > 0 || h.telling {
			h.out.Receipt = h.next
		}
		if h.hand != nil {
			h.hand.Write(tx)
		}
		for _, d := range h.answers {
			task.Tasks.Put(tx, d.ID, d.Value)
		}
		if found {
			h.remember(tx, l, now)
		}
		beat(tx)
		return nil
	})
	if err == nil && len(h.out.Mail) > 0 {
		op.OnUndelivered(ctx, h.hand.Undo)
	}
	return err
}

// remember updates the link of the session.
func (h *handover) remember(tx *store.Tx, l link, now time.Time) {
	l.confirm(h.in.Receipt)
	switch {
	case h.telling:
		l.Asked, l.Receipt = h.claims, h.next
	default:
		l.Told = h.claims
	}
	l.describe(h.in)
	l.SeenAt, l.PurgeAt = now, now.Add(kept)
	links.Put(tx, linkID(h.seat.Address), l)
}

// tell hands over the answers that are due, and confirms those that have the receipt.
func (h *handover) tell(ctx context.Context, tx *store.Tx, now time.Time) error {
	docs, err := asked(ctx, tx, boxes(h.caller, h.seat.Address))
	if err != nil {
		return err
	}
	for _, d := range docs {
		t := d.Value
		switch {
		case h.in.Receipt != "" && t.AnswerReceipt == h.in.Receipt:
			t.AnswerBox, t.AnswerReceipt, t.AnswerDueAt = "", "", time.Time{}
		case !untold(&t, now) || h.budget == 0:
			continue
		default:
			a, ok := h.answer(d)
			if !ok {
				continue
			}
			h.out.Answers = append(h.out.Answers, a)
			t.AnswerReceipt, t.AnswerDueAt = h.next, now.Add(answerAgain)
		}
		h.answers = append(h.answers, store.Doc[task.Task]{ID: d.ID, Value: t})
	}
	return nil
}

// questionText is the length of the beginning of a question in an answer, in characters.
const questionText = 160

// answer returns the answer to a question, cut so that it fits, false if it does not.
func (h *handover) answer(d store.Doc[task.Task]) (wire.Answer, bool) {
	q := d.Value.Question
	a := wire.Answer{QuestionID: d.ID, Question: line(q.Content, questionText), By: q.AnsweredBy,
		With: string(cmp.Or(q.AnsweredWith, identity.Local)), At: q.AnsweredAt, Again: d.Value.AnswerReceipt != ""}
	a.Truncated = true // of the two sizes the larger one
	room := h.left - size(a) - len(`,`) + len(`""`)
	var ok bool
	if a.Answer, a.Truncated, ok = cut(clean(q.Response), room); !ok {
		return a, false
	}
	h.left -= size(a) + len(`,`)
	return a, true
}

// read hands over the mail that fits. A message that does not fit ends it, so that none is passed over.
func (h *handover) read(ctx context.Context, tx *store.Tx) error {
	next := h.next
	if h.budget == 0 {
		next = ""
	}
	h.hand = h.Mail.Hand(h.caller, boxes(h.caller, h.seat.Address), h.in.Receipt, next)
	full, mail := false, map[string]wire.Mail{}
	taken, err := h.hand.Read(ctx, tx, most, func(l Letter) bool {
		m, ok := h.mail(l)
		if full = full || !ok; full {
			return false
		}
		h.left -= size(m) + len(`,`)
		mail[l.ID] = m
		return true
	})
	for _, l := range taken {
		m := mail[l.ID]
		m.Again = l.Again
		h.out.Mail = append(h.out.Mail, m)
	}
	return err
}

// maxName is the length of the longest name or id that a sender gives, in characters.
const maxName = 201

// mail returns a message, cut so that it fits, false if it does not.
func (h *handover) mail(l Letter) (wire.Mail, bool) {
	m := wire.Mail{MessageID: l.ID, From: line(l.From, maxName), Verified: l.Verified, Human: l.Human, To: l.Target,
		Type: l.Type, Priority: l.Priority, Truncated: true, At: l.At, Again: true, ThreadID: line(l.ThreadID, maxName),
		ReplyTo: line(l.ReplyTo, maxName)}
	var ok bool
	m.Text, m.Truncated, ok = cut(clean(l.Text), h.left-size(m)-len(`,`)+len(`""`))
	return m, ok
}
