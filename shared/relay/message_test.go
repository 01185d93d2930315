package relay

import (
	"parley.internal/shared/domaintest"
	"parley.internal/shared/store"
	"slices"
	"testing"
	"time"
)

func TestEachStateOfAMessageIsSweptAtItsTime(t *testing.T) {
	t.Parallel()
	const bury, spend = "dead letter", "deleted"
	read := func(at ...time.Duration) func(*Message) {
		return func(m *Message) {
			for _, d := range at {
				m.Deliver(t0.Add(d))
			}
		}
	}
	ack := func(at time.Duration) func(*Message) { return func(m *Message) { m.Ack(t0.Add(at)) } }
	die := func(at time.Duration) func(*Message) { return func(m *Message) { m.Bury(t0.Add(at)) } }
	for name, c := range map[string]struct {
		typ   string
		after []func(*Message)
		then  string
		at    time.Duration
		// keeps is when the store may forget it by itself.
		keeps time.Duration
	}{
		"unread": {"STATUS", nil, bury, time.Hour, time.Hour + DeadFor},
		"read":   {"STATUS", []func(*Message){read(0)}, spend, time.Hour, time.Hour},
		"acknowledged unread": {
			"STATUS", []func(*Message){ack(time.Minute)}, spend, time.Hour, time.Hour,
		},
		"a query, unread":    {"QUERY", nil, bury, time.Hour, time.Hour + DeadFor},
		"a query, read once": {"QUERY", []func(*Message){read(0)}, bury, time.Hour, time.Hour + DeadFor},
		"a query, read twice": {
			"QUERY", []func(*Message){read(0, 2*time.Minute)}, bury, time.Hour, time.Hour + DeadFor,
		},
		"a query, read three times": {
			"QUERY", []func(*Message){read(0, 2*time.Minute, 4*time.Minute)}, bury, 6 * time.Minute,
			6*time.Minute + DeadFor,
		},
		"a directive, read three times": {
			"DIRECTIVE", []func(*Message){read(0, 2*time.Minute, 4*time.Minute)}, bury, 6 * time.Minute,
			6*time.Minute + DeadFor,
		},
		"a query, the third time at last": {
			"QUERY", []func(*Message){read(0, 2*time.Minute, 59*time.Minute)}, bury, time.Hour, time.Hour + DeadFor,
		},
		"a query, acknowledged": {
			"QUERY", []func(*Message){read(0), ack(time.Minute)}, spend, time.Hour, time.Hour,
		},
		"dead": {
			"STATUS", []func(*Message){die(2 * time.Hour)}, spend, 2*time.Hour + DeadFor, 2*time.Hour + DeadFor,
		},
		"dead, and acknowledged": {
			"STATUS", []func(*Message){die(2 * time.Hour), ack(3 * time.Hour)}, spend, 3 * time.Hour, 3 * time.Hour,
		},
		"dead, and acknowledged in time": {
			"QUERY",
			[]func(*Message){read(0, 2*time.Minute, 4*time.Minute), die(6 * time.Minute), ack(7 * time.Minute)}, spend,
			time.Hour, time.Hour,
		},
		"acknowledged when it was too late": {
			"QUERY", []func(*Message){read(0), ack(2 * time.Hour)}, spend, 2 * time.Hour, 2 * time.Hour,
		},
	} {
		m := Message{Type: c.typ, Source: "alpha"}
		m.Post("beta", t0, time.Hour)
		for _, do := range c.after {
			do(&m)
		}
		if !m.SweepAt.Equal(t0.Add(c.at)) || m.PurgeAt.Before(t0.Add(c.keeps)) {
			t.Errorf("%s: to be swept at %v, forgotten at %v", name, m.SweepAt, m.PurgeAt)
		}
		if buried, spent := m.Sweep(m.SweepAt.Add(-time.Microsecond)); buried || spent {
			t.Errorf("%s: swept before its time", name)
		}
		state := m.State
		buried, spent := m.Sweep(t0.Add(c.at))
		if buried != (c.then == bury) || spent != (c.then == spend) || (spent && m.State != state) {
			t.Errorf("%s: buried %v, spent %v", name, buried, spent)
		}
	}
}

// Whatever happens to a message, and in whatever order, a sweep comes to an end
// with it, and takes nothing that somebody may still want.
func TestNoOrderOfEventsMakesASweepLoseAMessage(t *testing.T) {
	t.Parallel()
	const length = 7
	waits := []time.Duration{2 * time.Minute, 25 * time.Minute}
	var walk func(m Message, now time.Time, left int, path string)
	walk = func(m Message, now time.Time, left int, path string) {
		if m.PurgeAt.Before(m.SweepAt) {
			t.Errorf("%s: the store forgets it at %v, before the sweep of %v", path, m.PurgeAt, m.SweepAt)
		}
		if live := m.State != Dead; live != (len(m.Dead) == 0) || live != m.DiedAt.IsZero() {
			t.Errorf("%s: %s, among the dead letters of %q since %v", path, m.State, m.Dead, m.DiedAt)
		}
		if m.Lapsed(now) && now.Before(m.SweepAt) {
			t.Errorf("%s: it lapsed, and is not swept before %v", path, m.SweepAt)
		}
		if left == 0 {
			return
		}
		for _, d := range waits {
			walk(m, now.Add(d), left-1, path+" wait")
		}
		if next := m; !m.DueAt.IsZero() && !m.DueAt.After(now) && !m.Lapsed(now) {
			next.Deliver(now)
			walk(next, now, left-1, path+" read")
		}
		next := m
		next.Ack(now)
		walk(next, now, left-1, path+" ack")

		next = m
		buried, spent := next.Sweep(now)
		switch {
		case spent && (m.State == Pending || m.State == Delivered && m.WantsAck()):
			t.Errorf("%s: deleted while %s", path, m.State)
		case spent && m.State == Dead && now.Before(m.DiedAt.Add(DeadFor)),
			spent && m.State != Dead && now.Before(m.ExpiresAt):
			t.Errorf("%s: deleted too early", path)
		case !spent && !now.Before(next.SweepAt):
			t.Errorf("%s: swept, and due again at once", path)
		case buried:
			walk(next, now, left-1, path+" sweep")
		}
	}
	for _, typ := range []string{"STATUS", "QUERY"} {
		m := Message{Type: typ, Source: "alpha"}
		m.Post("beta", t0, time.Hour)
		walk(m, t0, length, typ)
	}
}

func TestADeadLetterIsListedForItsSenderItsRecipientAndUnboundKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source, target string
		want           []string
	}{
		"two programs":     {"alpha", "beta", []string{"*", "alpha", "beta"}},
		"one to itself":    {"alpha", "alpha", []string{"*", "alpha"}},
		"a sender unnamed": {"", "beta", []string{"*", "beta"}},
	} {
		m := Message{Source: c.source}
		m.Post(c.target, t0, time.Hour)
		if m.Bury(t0); !slices.Equal(m.Dead, c.want) {
			t.Errorf("%s: %q", name, m.Dead)
		}
	}
}

func TestTheIdOfACopyDependsOnTheMulticastAndTheRecipient(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, of := range []string{"m1", "m2"} {
		for _, to := range []string{"alpha", "beta", "Beta", "beta.1"} {
			id := copyID(of, to)
			if seen[id] || id != copyID(of, to) || len(id) > len(of)+17 {
				t.Errorf("%s to %s is %s", of, to, id)
			}
			seen[id] = true
		}
	}
}

func TestADocumentHasTheTypeUnderBothNames(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.send(SendInput{MessageType: "QUERY"})
		page := domaintest.Must(messages.Query(t.Context(), m.DB.User("u"), store.Query{Limit: 10}))(t)
		if len(page.Docs) != 1 {
			t.Fatalf("%+v", page.Docs)
		}
		fields := domaintest.Must(messages.Encode(page.Docs[0].Value))(t)
		if fields["message_type"] != "QUERY" || fields["messageType"] != "QUERY" {
			t.Errorf("%v", fields)
		}
	})
}
