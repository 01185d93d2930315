package relay

import (
	"fmt"
	"testing"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/task"
)

// The states of a message that expires an hour after t0. Its last change is at t0.
var states = []struct {
	name string
	make func(*Message)
}{
	{"unread", func(*Message) {}},
	{"held", func(m *Message) { m.Hold("r0", t0) }},
	{"delivered", func(m *Message) { m.Deliver(t0) }},
	{"delivered twice", func(m *Message) { m.Deliver(t0); m.Deliver(t0) }},
	{"delivered three times", func(m *Message) { m.Deliver(t0); m.Deliver(t0); m.Deliver(t0) }},
	{"held after a delivery", func(m *Message) { m.Deliver(t0); m.Hold("r0", t0) }},
	{"acknowledged", func(m *Message) { m.Deliver(t0); m.Ack(t0) }},
	{"dead", func(m *Message) { m.Bury(t0) }},
}

// The events, each a minute after t0 unless its name says more.
var events = []struct {
	name string
	at   time.Duration
	do   func(*Message, time.Time)
}{
	{"read", time.Minute, func(m *Message, now time.Time) { m.Deliver(now) }},
	{"read with a receipt", time.Minute, func(m *Message, now time.Time) { m.Hold("r1", now) }},
	{"receipt", time.Minute, func(m *Message, now time.Time) { m.Confirm(now) }},
	{"read that is undone", time.Minute, func(m *Message, now time.Time) {
		before := *m
		m.Deliver(now)
		m.Undeliver(before, *m)
	}},
	{"read that is undone after an acknowledgement", time.Minute, func(m *Message, now time.Time) {
		before := *m
		m.Deliver(now)
		read := *m
		m.Ack(now)
		m.Undeliver(before, read)
	}},
	{"acknowledgement", time.Minute, func(m *Message, now time.Time) { m.Ack(now) }},
	{"sweep after 120 s", Redeliver, func(m *Message, now time.Time) { m.Sweep(now) }},
	{"sweep after the expiry", time.Hour, func(m *Message, now time.Time) { m.Sweep(now) }},
}

// after describes a message after an event: its state, its deliveries, the time from t0 at which it is due, its receipt,
// and whether it is marked as one that may have been seen.
func after(m Message) string {
	due := "never"
	switch {
	case m.DueAt.Equal(alwaysDue):
		due = "now"
	case !m.DueAt.IsZero():
		due = m.DueAt.Sub(t0).String()
	}
	text := fmt.Sprintf("%s %d due %s", m.State, m.Deliveries, due)
	if m.Receipt != "" {
		text += " " + m.Receipt
	}
	if m.Again {
		text += " again"
	}
	return text
}

// The rows are the states, the columns the events, each in the order above. An event that no caller can bring about in a
// state is left out.
var table = map[string]map[string][]string{
	"STATUS": {
		"unread": {"delivered 1 due never", "pending 0 due 3m0s r1", "", "pending 0 due now again", "acked 1 due never",
			"acked 0 due never", "pending 0 due now", "dead 0 due never"},
		"held": {"delivered 1 due never again", "pending 0 due 3m0s r1 again", "delivered 1 due never",
			"pending 0 due 2m0s again", "acked 1 due never again", "acked 0 due never", "pending 0 due 2m0s r0",
			"dead 0 due never"},
		"delivered":             {"", "", "", "", "", "acked 1 due never", "delivered 1 due never", "delivered 1 due never"},
		"delivered twice":       nil,
		"delivered three times": nil,
		"held after a delivery": nil,
		"acknowledged":          {"", "", "", "", "", "acked 1 due never", "acked 1 due never", "acked 1 due never"},
		"dead":                  {"", "", "", "", "", "acked 0 due never", "dead 0 due never", "dead 0 due never"},
	},
	"DIRECTIVE": {
		"unread": {"delivered 1 due 3m0s", "pending 0 due 3m0s r1", "", "pending 0 due now again", "acked 1 due never",
			"acked 0 due never", "pending 0 due now", "dead 0 due never"},
		"held": {"delivered 1 due 3m0s again", "pending 0 due 3m0s r1 again", "delivered 1 due 3m0s",
			"pending 0 due 2m0s again", "acked 1 due never again", "acked 0 due never", "pending 0 due 2m0s r0",
			"dead 0 due never"},
		"delivered": {"delivered 2 due 3m0s", "delivered 1 due 3m0s r1", "", "delivered 1 due 2m0s again",
			"acked 2 due never", "acked 1 due never", "delivered 1 due 2m0s", "dead 1 due never"},
		"delivered twice": {"delivered 3 due 3m0s", "delivered 2 due 3m0s r1", "", "delivered 2 due 2m0s again",
			"acked 3 due never", "acked 2 due never", "delivered 2 due 2m0s", "dead 2 due never"},
		"delivered three times": {"", "", "", "", "", "acked 3 due never", "dead 3 due never", "dead 3 due never"},
		"held after a delivery": {"delivered 2 due 3m0s again", "delivered 1 due 3m0s r1 again", "delivered 2 due 3m0s",
			"delivered 1 due 2m0s again", "acked 2 due never again", "acked 1 due never", "delivered 1 due 2m0s r0",
			"dead 1 due never"},
		"acknowledged": {"", "", "", "", "", "acked 1 due never", "acked 1 due never", "acked 1 due never"},
		"dead":         {"", "", "", "", "", "acked 0 due never", "dead 0 due never", "dead 0 due never"},
	},
}

func TestEachEventHasItsEffectInEachState(t *testing.T) {
	t.Parallel()
	for typ, rows := range table {
		for _, s := range states {
			row := rows[s.name]
			if row == nil {
				continue // a message of this type is not in this state
			}
			for i, e := range events {
				if row[i] == "" {
					continue
				}
				m := Message{Source: "alpha", Type: typ, Priority: task.Normal, Sender: identity.Owner{Program: "alpha"}}
				m.Post("beta", t0, time.Hour)
				s.make(&m)
				e.do(&m, t0.Add(e.at))
				if got := after(m); got != row[i] {
					t.Errorf("%s, %s, %s: %s, want %s", typ, s.name, e.name, got, row[i])
				}
				if m.SweepAt.After(m.PurgeAt) {
					t.Errorf("%s, %s, %s: the store may delete it at %v, before its sweep at %v", typ, s.name, e.name,
						m.PurgeAt, m.SweepAt)
				}
			}
		}
	}
}
