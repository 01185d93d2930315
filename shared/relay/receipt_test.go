package relay

import (
	"context"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// confirm reads with a receipt, after confirming that of an earlier read.
func (m *mail) confirm(c identity.Caller, receipt string) GetOutput {
	m.t.Helper()
	return domaintest.Must(m.Get(m.t.Context(), c, GetInput{Confirm: true, Receipt: receipt}))(m.t)
}

func TestAConfirmedReadIsNotRepeated(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.send(SendInput{Message: "one"})
		m.send(SendInput{Message: "two", MessageType: "QUERY"})
		first := m.confirm(beta, "")
		if texts(first.Messages) != "one two" || first.Receipt == "" {
			t.Fatalf("read %+v", first)
		}
		m.send(SendInput{Message: "three"})
		second := m.confirm(beta, first.Receipt)
		if texts(second.Messages) != "three" || second.Receipt == first.Receipt {
			t.Errorf("read %+v", second)
		}
		m.Pass(Redeliver)
		// The query was delivered once and wants to be acknowledged; the third message was never confirmed.
		if got := m.views(beta, GetInput{}); texts(got) != "two three" || got[0].Again || !got[1].Again {
			t.Errorf("read %+v", got)
		}
	})
}

func TestAnUnconfirmedReadComesAgainWithAMark(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.send(SendInput{Message: "status"})
		m.send(SendInput{Message: "directive", MessageType: "DIRECTIVE"})
		for range 5 { // more often than a directive is delivered
			if got := m.confirm(beta, ""); len(got.Messages) != 2 {
				t.Fatalf("read %+v", got)
			}
			if got := m.confirm(beta, ""); len(got.Messages) != 0 || got.Receipt != "" {
				t.Fatalf("read at once: %+v", got)
			}
			m.Pass(Redeliver)
		}
		last := m.confirm(beta, "")
		if len(last.Messages) != 2 || !last.Messages[0].Again || !last.Messages[1].Again {
			t.Fatalf("read %+v", last)
		}
		if got := m.confirm(beta, last.Receipt); len(got.Messages) != 0 {
			t.Errorf("read %+v", got)
		}
		if got := m.dead(beta); got != "" {
			t.Errorf("dead letters are %q", got)
		}
	})
}

func TestAReaderThatWaitsGetsWhatIsDueAgain(t *testing.T) {
	for name, read := range map[string]GetInput{
		"what was never confirmed":       {Confirm: true},
		"a directive without an answer":  {},
		"a peek at what is held":         {Confirm: true},
		"an inbox with a filter by type": {Confirm: true},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, m *mail) {
				m.send(SendInput{Message: "first", MessageType: "DIRECTIVE"})
				if got := domaintest.Must(m.Get(t.Context(), beta, read))(t); texts(got.Messages) != "first" {
					t.Fatalf("read %+v", got)
				}
				m.Pass(Redeliver - 300*time.Millisecond)
				m.Clock.Tick()
				again := GetInput{WaitMs: 50_000}
				switch name {
				case "a peek at what is held":
					again.MarkAsRead = new(bool)
				case "an inbox with a filter by type":
					again.MessageType = "DIRECTIVE"
				}
				got := domaintest.Must(m.Get(t.Context(), beta, again))(t)
				if texts(got.Messages) != "first" || got.Messages[0].Again != (read.Confirm && again.MarkAsRead == nil) {
					t.Errorf("the wait has %+v", got)
				}
			})
		})
	}
}

func TestAReceiptConfirmsTheMailOfItsReaderAlone(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.send(SendInput{Message: "for-beta"})
		read := m.confirm(beta, "")
		m.confirm(gamma, read.Receipt)
		m.confirm(beta, "no such receipt")
		m.Pass(Redeliver)
		if got := m.views(beta, GetInput{}); texts(got) != "for-beta" {
			t.Errorf("read %+v", got)
		}
	})
}

func TestAPeekTakesNoReceipt(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for name, in := range map[string]GetInput{
			"a receipt":      {MarkAsRead: new(false), Receipt: "r"},
			"a confirmation": {MarkAsRead: new(false), Confirm: true},
		} {
			_, err := m.Get(t.Context(), beta, in)
			domaintest.Refused(t, name, err, fault.Invalid, "markAsRead")
		}
	})
}

// call reads beta's inbox as a transport does, so that the answer may not arrive.
func (m *mail) call(ctx context.Context, in string) op.Result {
	m.t.Helper()
	catalogue := op.NewCatalogue(m.Operations())
	o := catalogue.Ops()[1]
	return domaintest.Must(catalogue.Call(ctx, o, op.Call{Caller: beta, Input: op.Parse([]byte(in))}))(m.t)
}

func TestAnAnswerThatIsNotDeliveredChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for name, in := range map[string]string{"plain": `{}`, "with a receipt": `{"confirm":true}`} {
			id := m.send(SendInput{Message: "hello", MessageType: "QUERY"})
			before := m.stored(id)
			res := m.call(t.Context(), in)
			if !res.Consumed() {
				t.Fatalf("%s: nothing was consumed by %s", name, res.Data)
			}
			domaintest.Check(t, res.Undelivered(t.Context()))
			got := m.stored(id)
			before.Again = true
			if got.State != before.State || got.Deliveries != 0 || !got.DueAt.Equal(before.DueAt) || !got.Again ||
				got.Receipt != "" {
				t.Errorf("%s: the message is %+v, want %+v", name, got, before)
			}
			if got := m.views(beta, GetInput{}); len(got) != 1 || !got[0].Again {
				t.Errorf("%s: the next read has %+v", name, got)
			}
			m.ack(beta, id)
		}
	})
}

func TestAnUndeliveredMessageThatWasAcknowledgedStaysSo(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		id := m.send(SendInput{Message: "hello", MessageType: "QUERY"})
		res := m.call(t.Context(), `{}`)
		m.ack(beta, id)
		domaintest.Check(t, res.Undelivered(t.Context()))
		if got := m.stored(id); got.State != Acked {
			t.Errorf("the message is %s", got.State)
		}
	})
}

func TestAReaderThatIsCancelledLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		end := make(chan struct{})
		ctx := store.WithEnd(t.Context(), end)
		var got GetOutput
		done := make(chan error)
		go func() {
			var err error
			got, err = m.Get(ctx, beta, GetInput{WaitMs: 30_000})
			done <- err
		}()
		close(end)
		domaintest.Check(t, <-done)
		if len(got.Messages) != 0 {
			t.Errorf("the cancelled wait answers %+v", got)
		}
		m.send(SendInput{Message: "hello"})
		if got := domaintest.Must(m.Get(ctx, beta, GetInput{}))(t); len(got.Messages) != 0 {
			t.Errorf("a read that was cancelled before answers %+v", got)
		}
		if got := m.get(beta, GetInput{}); got != "hello" {
			t.Errorf("the next read has %q", got)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		m.send(SendInput{Message: "again"})
		if _, err := m.Get(gone, beta, GetInput{}); err == nil {
			t.Error("a call that has ended reads mail")
		}
		if got := m.get(beta, GetInput{}); got != "again" {
			t.Errorf("the read after it has %q", got)
		}
	})
}

func TestAHeldMessageThatExpiresIsADeadLetter(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.send(SendInput{Message: "late", TTL: 60})
		m.confirm(beta, "")
		m.Pass(2 * time.Minute)
		m.sweep(10)
		if got := m.dead(beta); got != "late" {
			t.Errorf("dead letters are %q", got)
		}
	})
}
