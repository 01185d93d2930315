package relay

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

func TestASystemMessageIsSentOnce(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for range 2 {
			if err := m.Tell(t.Context(), "u", "told-1", "beta", "beta.1 is gone"); err != nil {
				t.Fatal(err)
			}
			m.Pass(time.Second)
		}
		want := View{
			ID:          "told-1",
			Source:      "parley",
			Verified:    true,
			Target:      "beta",
			Message:     "beta.1 is gone",
			MessageType: "STATUS",
			Priority:    task.Normal,
			Status:      Delivered,
			CreatedAt:   t0,
			ExpiresAt:   t0.Add(24 * time.Hour),
			Deliveries:  1,
		}
		if got := m.views(beta, GetInput{}); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%+v", got)
		}
		if err := m.Tell(t.Context(), "u", "told-1", "beta", "again"); err != nil {
			t.Error(err)
		}
		if got := m.get(beta, GetInput{}); got != "" {
			t.Errorf("told again: %q", got)
		}
		if err := m.Tell(t.Context(), "u", "a/b", "beta", "x"); err == nil {
			t.Error("what was not told is a success")
		}
	})
}

func TestNoKeySpeaksAsTheSystem(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		human := loose
		human.Kind = identity.Human
		for name, c := range map[string]struct {
			who    identity.Caller
			source string
		}{
			"an unbound key": {loose, "parley"}, "in capitals": {loose, "Parley"}, "with spaces": {loose, " parley "},
			"a human": {human, "parley"}, "a key of that program": {domaintest.Bound("u", "parley"), ""},
		} {
			for _, target := range []string{"beta", "group:ops", "all"} {
				in := to(target)
				in.Source = c.source
				_, err := m.Send(t.Context(), c.who, in)
				domaintest.Refused(t, name, err, fault.Forbidden, "Parley's own messages")
			}
		}
		if got := m.get(beta, GetInput{}); got != "" {
			t.Errorf("what was refused came: %s", got)
		}
	})
}

func TestTheInputsOfGroupsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		c := op.NewCatalogue(m.Operations())
		call := func(name string, args map[string]any) error {
			text, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Call(t.Context(), c.Op(name), op.Call{Caller: alpha, Input: op.Parse(text)})
			return err
		}
		long := strings.Repeat("n", 100)
		for _, name := range []string{"", ".", "..", "__x__", "a/b", "a b", "-a", long + "n", "*"} {
			err := call("set_group", map[string]any{"name": name, "members": []string{"beta"}})
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("a group named %q: %v", name, err)
			}
			err = call("set_group", map[string]any{"name": "ops", "members": []string{"beta", name}})
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("a member named %q: %v", name, err)
			}
		}
		err := call("set_group", map[string]any{"name": "ops", "members": many(101)})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("101 members: %v", err)
		}
		if err := call("set_group", map[string]any{"name": "ops"}); !fault.Is(err, fault.Invalid) {
			t.Errorf("without members: %v", err)
		}
		if err := call("set_group", map[string]any{"name": long, "members": append(many(99), "beta")}); err != nil {
			t.Error(err)
		}
		send := func(target string) error {
			return call("send_message", map[string]any{
				"message":      "hear",
				"source":       "",
				"target":       target,
				"message_type": "STATUS",
			})
		}
		if err := send("group:" + long); err != nil {
			t.Error(err)
		}
		if err := send(long + "n"); domaintest.Fields(err) != "target" {
			t.Errorf("a program of 101 letters: %v", err)
		}
		if err := send("group:" + long + "n"); domaintest.Fields(err) != "target" {
			t.Errorf("a group of 101 letters: %v", err)
		}
		if got := m.get(beta, GetInput{}); got != "hear" {
			t.Errorf("beta got %q", got)
		}
	})
}

func TestEveryCallKeepsItsBudget(t *testing.T) {
	eachHooked(t, func(t *testing.T, m *mail, d *hooked) {
		m.Live = known{"beta", "gamma"}
		keyed := to("group:ops")
		keyed.IdempotencyKey = "k"
		send := func(in SendInput) func() error {
			return func() error { _, err := m.Send(t.Context(), alpha, in); return err }
		}
		for _, c := range []struct {
			name string
			max  int64
			call func() error
		}{
			{"set_group", 2, func() error {
				_, err := m.SetGroup(t.Context(), alpha, SetGroupInput{Name: "ops", Members: []string{"beta", "gamma"}})
				return err
			}},
			{
				"list_groups", 1,
				func() error { _, err := m.ListGroups(t.Context(), alpha, ListGroupsInput{}); return err },
			},
			{"send_message", 1, send(to("beta"))},
			{"send_message to a group", 2, send(to("group:ops"))},
			{"send_message to a group, with a key", 3, send(keyed)},
			{"send_message to all", 1, send(to("all"))},
			{"get_messages", 2, func() error { _, err := m.Get(t.Context(), beta, GetInput{}); return err }},
			{
				"get_dead_letters", 1,
				func() error { _, err := m.DeadLetters(t.Context(), beta, DeadInput{}); return err },
			},
			{"a word of the system", 1, func() error { return m.Tell(t.Context(), "u", "told", "beta", "x") }},
		} {
			d.calls.Store(0)
			if err := c.call(); err != nil || d.calls.Load() > c.max || d.calls.Load() == 0 {
				t.Errorf("%s: %d calls, %v", c.name, d.calls.Load(), err)
			}
		}
	})
}
