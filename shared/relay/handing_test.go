package relay

import (
	"context"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
)

// handed hands over the mail of beta that fits, and confirms a receipt.
func (m *mail) handed(receipt, next string, most int) (texts []string, undo func(context.Context) error) {
	m.t.Helper()
	h := m.Hand(beta, []string{"beta/1", "beta"}, receipt, next)
	domaintest.Check(m.t, m.DB.User("u").Update(m.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		texts = nil
		taken := 0
		got, err := h.Read(ctx, tx, 20, func(store.Doc[Message]) bool { taken++; return taken <= most })
		for _, d := range got {
			texts = append(texts, d.Value.Text)
		}
		h.Write(tx)
		return err
	}))
	return texts, h.Undo
}

func TestMailIsHandedOverInAnotherTransactionUnderAReceipt(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.send(SendInput{Message: "one"})
		m.Pass(time.Second)
		m.send(SendInput{Message: "two"})
		count := func(want int) {
			t.Helper()
			due := domaintest.Must(m.Due(t.Context(), m.DB.User("u"), []string{"beta/1", "beta"}, 10))(t)
			if len(due) != want {
				t.Errorf("%d messages are due, want %d", len(due), want)
			}
		}
		if got, _ := m.handed("", "", 9); got != nil {
			t.Errorf("without a receipt to come %v is handed over", got)
		}
		count(2)
		got, undo := m.handed("", "first", 1)
		if len(got) != 1 || got[0] != "one" {
			t.Fatalf("handed over is %v", got)
		}
		count(1)
		domaintest.Check(t, undo(t.Context()))
		count(2)
		m.handed("", "second", 2)
		m.handed("second", "", 9)
		m.Pass(Redeliver)
		count(0)
	})
}

func TestNewMailIsHandedOverBeforeWhatComesAgain(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for _, text := range []string{"one", "two"} {
			m.send(SendInput{Message: text, MessageType: "QUERY", Priority: "high"})
		}
		m.handed("", "first", 9)
		m.handed("first", "", 9)
		m.Pass(Redeliver)
		m.send(SendInput{Message: "new"})
		if got, _ := m.handed("", "second", 1); len(got) != 1 || got[0] != "new" {
			t.Errorf("handed over is %v", got)
		}
		if got, _ := m.handed("", "third", 9); len(got) != 2 || got[0] != "one" {
			t.Errorf("and then %v", got)
		}
	})
}

func TestAProgramHasWrittenToAnotherWhileAMessageIsKept(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.send(SendInput{Message: "to a session", Target: "beta/1"})
		for _, c := range []struct {
			source, target string
			want           bool
		}{{"alpha", "beta", true}, {"beta", "alpha", false}, {"alpha", "gamma", false}} {
			got := domaintest.Must(m.WroteTo(t.Context(), "u", c.source, c.target))(t)
			if got != c.want {
				t.Errorf("%s wrote to %s: %t", c.source, c.target, got)
			}
		}
	})
}
