package relay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

func TestAMessageIsDeliveredAsSentAndOnce(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		in := SendInput{
			Message:     "hello",
			Source:      "alpha",
			Target:      "beta",
			MessageType: "RESULT",
			Priority:    task.High,
			Action:      "interrupt",
			Context:     "ctx",
			SessionID:   "alpha.1",
			ReplyTo:     "r1",
			ThreadID:    "th1",
			TTL:         60,
			Provenance:  &task.Provenance{Model: "m", Confidence: 0.5},
		}
		out, err := m.Send(t.Context(), alpha, in)
		want := SendOutput{
			MessageID: "id-000001",
			Source:    "alpha",
			Verified:  true,
			Target:    "beta",
			CreatedAt: t0,
			ExpiresAt: t0.Add(time.Minute),
		}
		if err != nil || !reflect.DeepEqual(out, want) {
			t.Fatalf("%+v, %v", out, err)
		}
		got := m.views(beta, GetInput{})
		view := View{
			ID:            "id-000001",
			Source:        "alpha",
			Verified:      true,
			SourceSession: "alpha/alpha.1",
			Target:        "beta",
			Message:       "hello",
			MessageType:   "RESULT",
			Priority:      task.High,
			Action:        "interrupt",
			Context:       "ctx",
			SessionID:     "alpha.1",
			ReplyTo:       "r1",
			ThreadID:      "th1",
			Provenance:    in.Provenance,
			Status:        Delivered,
			CreatedAt:     t0,
			ExpiresAt:     t0.Add(time.Minute),
			Deliveries:    1,
		}
		if len(got) != 1 || !reflect.DeepEqual(got[0], view) {
			t.Errorf("%+v", got)
		}
		if got := m.get(beta, GetInput{}); got != "" {
			t.Errorf("again: %s", got)
		}
		s := m.stored("id-000001")
		if s.State != Delivered || !s.DeliveredAt.Equal(t0) || !s.DueAt.IsZero() || s.Deliveries != 1 {
			t.Errorf("kept as %+v", s)
		}
	})
}

func TestPeekingMarksNothing(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		id := m.send(SendInput{})
		reader, readOnly := beta, beta
		reader.Scopes, readOnly.ReadOnly = []string{identity.ScopeRead}, true
		yes := true
		for name, c := range map[string]struct {
			who identity.Caller
			in  GetInput
		}{
			"markAsRead false":      {beta, GetInput{MarkAsRead: new(false)}},
			"a key that reads":      {reader, GetInput{}},
			"that asks for marking": {reader, GetInput{MarkAsRead: &yes}},
			"a read-only endpoint":  {readOnly, GetInput{}},
			"the history":           {beta, GetInput{IncludeDelivered: true}},
		} {
			got := m.views(c.who, c.in)
			if texts(got) != "hello" || got[0].Status != Pending || got[0].Deliveries != 0 {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if s := m.stored(id); s.State != Pending || s.Deliveries != 0 {
			t.Errorf("kept as %+v", s)
		}
		if got := m.get(beta, GetInput{MarkAsRead: &yes}); got != "hello" {
			t.Errorf("then: %s", got)
		}
	})
}

func TestAnUnacknowledgedMessageIsDeliveredThreeTimesAndThenDead(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for _, typ := range []string{"DIRECTIVE", "QUERY"} {
			id := m.send(SendInput{MessageType: typ, Message: typ})
			for i := 1; i <= MaxDeliveries; i++ {
				got := m.views(beta, GetInput{})
				if texts(got) != typ || got[0].Deliveries != i || !got[0].NeedsAck || got[0].Status != Delivered {
					t.Fatalf("delivery %d: %+v", i, got)
				}
				m.Pass(Redeliver - time.Millisecond)
				if got := m.get(beta, GetInput{}); got != "" {
					t.Errorf("after %d it comes too early", i)
				}
				m.Pass(time.Millisecond)
			}
			if got := m.get(beta, GetInput{}) + m.get(beta, GetInput{MarkAsRead: new(false)}); got != "" {
				t.Errorf("a fourth time: %s", got)
			}
			s := m.stored(id)
			if s.State != Dead || !s.DueAt.IsZero() || !s.PurgeAt.Equal(m.Clock.Now().Add(DeadFor)) ||
				s.Deliveries != 3 {
				t.Errorf("kept as %+v", s)
			}
		}
	})
}

func TestAnAckEndsTheDeliveries(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		first := m.send(SendInput{MessageType: "QUERY", Message: "q1"})
		second := m.send(SendInput{MessageType: "DIRECTIVE", Message: "d2"})
		if got := m.get(beta, GetInput{}); got != "q1 d2" {
			t.Fatal(got)
		}
		got := m.ack(beta, first, "nope", first)
		if !reflect.DeepEqual(got, AckOutput{[]string{first}, []string{"nope"}}) {
			t.Errorf("%+v", got)
		}
		if s := m.stored(first); s.State != Acked || !s.AckedAt.Equal(t0) || !s.DueAt.IsZero() {
			t.Errorf("kept as %+v", s)
		}
		m.Pass(Redeliver)
		if got := m.get(beta, GetInput{}); got != "d2" {
			t.Errorf("again: %s", got)
		}
		m.Pass(time.Second)
		if got := m.ack(beta, first, second); !reflect.DeepEqual(got, AckOutput{[]string{first, second}, []string{}}) {
			t.Errorf("once more: %+v", got)
		}
		if s := m.stored(first); !s.AckedAt.Equal(t0) {
			t.Errorf("a second ack moved the first: %+v", s)
		}
		m.Pass(Redeliver)
		if got := m.get(beta, GetInput{}); got != "" {
			t.Errorf("after both: %s", got)
		}
	})
}

func TestAnAckBeforeReadingIsAnAck(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		id := m.send(SendInput{MessageType: "DIRECTIVE"})
		if got := m.get(beta, GetInput{MarkAsRead: new(false)}); got != "hello" {
			t.Fatal(got)
		}
		m.ack(beta, id)
		if got := m.get(beta, GetInput{}); got != "" {
			t.Errorf("still delivered: %s", got)
		}
	})
}

func TestAnExpiredMessageIsNeverDelivered(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		short := m.send(SendInput{Message: "short", TTL: 60, Priority: task.High})
		m.send(SendInput{Message: "long"})
		m.Pass(time.Minute - time.Millisecond)
		if got := m.get(beta, GetInput{MarkAsRead: new(false)}); got != "short long" {
			t.Errorf("before: %s", got)
		}
		m.Pass(time.Millisecond)
		if got := m.get(beta, GetInput{MarkAsRead: new(false)}); got != "long" {
			t.Errorf("peeked: %s", got)
		}
		if got := m.get(beta, GetInput{}); got != "long" {
			t.Errorf("read: %s", got)
		}
		if s := m.stored(short); s.State != Dead || !s.PurgeAt.Equal(m.Clock.Now().Add(DeadFor)) {
			t.Errorf("kept as %+v", s)
		}
	})
}

func TestAnUnacknowledgedMessageIsDeadOnceItExpires(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		id := m.send(SendInput{MessageType: "DIRECTIVE", TTL: 150})
		if got := m.get(beta, GetInput{}); got != "hello" {
			t.Fatal(got)
		}
		m.Pass(Redeliver)
		if got := m.get(beta, GetInput{}); got != "hello" {
			t.Fatal(got)
		}
		m.Pass(Redeliver) // past its expiry
		if got := m.get(beta, GetInput{}); got != "" || m.stored(id).State != Dead {
			t.Errorf("%q, kept as %+v", got, m.stored(id))
		}
	})
}

// More dead letters than a page holds stand before live mail in the order.
func TestExpiredMessagesDoNotBlockLiveOnes(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for range 7 {
			m.send(SendInput{Message: "stale", TTL: 60, Priority: task.High})
		}
		m.send(SendInput{Message: "live", Priority: task.Low})
		m.Pass(time.Hour)
		for name, in := range map[string]GetInput{
			"peek":     {Limit: 3, MarkAsRead: new(false)},
			"filtered": {Limit: 3, MarkAsRead: new(false), MessageType: "STATUS"},
		} {
			if got := m.get(beta, in); got != "live" {
				t.Errorf("%s: %q", name, got)
			}
		}
		if got := m.get(beta, GetInput{Limit: 3}); got != "live" {
			t.Errorf("read: %q", got)
		}
		if got := m.get(beta, GetInput{Limit: 3}); got != "" {
			t.Errorf("again: %q", got)
		}
	})
}

func TestAnInboxIsByPriorityThenAge(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for i, p := range []task.Priority{task.Low, "", task.High, task.Low, task.Normal, task.High} {
			m.send(SendInput{Message: fmt.Sprintf("%d%s", i, p), Priority: p})
			m.Pass(time.Millisecond)
		}
		if got := m.get(beta, GetInput{MarkAsRead: new(false)}); got != "2high 5high 1 4normal 0low 3low" {
			t.Errorf("peeked: %s", got)
		}
		if got := m.get(beta, GetInput{Limit: 4}); got != "2high 5high 1 4normal" {
			t.Errorf("first: %s", got)
		}
		if got := m.get(beta, GetInput{}); got != "0low 3low" {
			t.Errorf("then: %s", got)
		}
	})
}

// Mail is selected by its state and not by time: an instance whose clock is behind the sender's must not miss a
// message, least of all after a wake.
func TestAMessageIsDeliveredThoughItsSendersClockIsAhead(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.Pass(2 * time.Second)
		m.send(SendInput{})
		m.Pass(-2 * time.Second)
		if got := m.get(beta, GetInput{MarkAsRead: new(false)}); got != "hello" {
			t.Errorf("peeked %q", got)
		}
		if got := m.get(beta, GetInput{}); got != "hello" {
			t.Errorf("read %q", got)
		}
	})
}

func TestADeliveredMessageIsKeptUntilItExpires(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		ids := map[string]string{
			"STATUS": m.send(SendInput{TTL: 3600}),
			"QUERY":  m.send(SendInput{TTL: 3600, MessageType: "QUERY"}),
		}
		m.views(beta, GetInput{})
		for typ, id := range ids {
			if s := m.stored(id); s.PurgeAt.Before(s.ExpiresAt) {
				t.Errorf("a %s is gone at %v", typ, s.PurgeAt)
			}
		}
		m.ack(beta, ids["QUERY"])
		if s := m.stored(ids["QUERY"]); s.PurgeAt.Before(s.ExpiresAt) {
			t.Errorf("what was acknowledged is gone at %v", s.PurgeAt)
		}
		if got := strings.Count(m.get(beta, GetInput{IncludeDelivered: true}), "hello"); got != 2 {
			t.Errorf("the history has %d", got)
		}
	})
}
