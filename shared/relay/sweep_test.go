package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

func TestASweepMakesDeadLettersAndDeletesReadMessages(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		unread := m.send(SendInput{TTL: 600, Target: "gamma"})
		long := m.send(SendInput{TTL: 7200, Target: "gamma"})
		read, acked := m.send(SendInput{TTL: 600}), m.send(SendInput{TTL: 600, MessageType: "QUERY"})
		once := m.send(SendInput{TTL: 600, MessageType: "QUERY"})
		thrice := m.send(SendInput{TTL: 86_400, MessageType: "DIRECTIVE"})
		m.views(beta, GetInput{})
		m.ack(beta, acked)
		m.Pass(Redeliver)
		m.views(beta, GetInput{MessageType: "DIRECTIVE"})
		m.Pass(Redeliver)
		m.views(beta, GetInput{MessageType: "DIRECTIVE"})
		m.Pass(Redeliver - time.Millisecond)
		if n := m.sweep(10); n != 0 {
			t.Errorf("handled %d too early", n)
		}
		m.Pass(time.Millisecond)
		if n := m.sweep(10); n != 1 || m.stored(thrice).State != Dead || !m.stored(thrice).DiedAt.Equal(m.Clock.Now()) {
			t.Errorf("handled %d, what came three times is %+v", n, m.stored(thrice))
		}
		m.Pass(600*time.Second - 3*Redeliver)
		if n := m.sweep(10); n != 4 {
			t.Errorf("handled %d", n)
		}
		for id, want := range map[string]State{
			unread: Dead,
			long:   Pending,
			read:   "",
			acked:  "",
			once:   Dead,
			thrice: Dead,
		} {
			if v, there := m.kept(id); there != (want != "") || v.State != want {
				t.Errorf("%s is %q", id, v.State)
			}
		}
		if n := m.sweep(10); n != 0 {
			t.Errorf("handled %d again", n)
		}
		m.Pass(DeadFor - 240*time.Second - time.Millisecond)
		if m.sweep(10); m.dead(alpha) == "" {
			t.Error("no dead letter is kept for its time")
		}
		m.Pass(240*time.Second + time.Millisecond)
		m.sweep(10)
		for _, id := range []string{unread, once, thrice} {
			if v, there := m.kept(id); there {
				t.Errorf("a dead letter is kept beyond its time: %+v", v)
			}
		}
	})
}

func TestASweepIsBoundedAndGoesOnWhereItEnded(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.fill("u", 5, time.Minute)
		m.fill("v", 2, time.Minute)
		m.send(SendInput{Message: "live"})
		m.Pass(time.Hour)
		for i, want := range []int{4, 3, 0} {
			if n := m.sweep(4); n != want {
				t.Errorf("run %d handled %d, want %d", i, n, want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.SweepRelay(ended, store.NewAdmin(m.DB), 4); err == nil {
			t.Error("a sweep that was ended says that nothing is left")
		}
		if got := m.get(beta, GetInput{}); got != "live" {
			t.Errorf("beta gets %q", got)
		}
		other := identity.Caller{User: "v", Program: "beta"}
		a, b := len(m.letters(beta, DeadInput{}).Messages), len(m.letters(other, DeadInput{}).Messages)
		if a != 5 || b != 2 {
			t.Errorf("%d and %d dead letters", a, b)
		}
	})
}

func TestASweepOfManyTakesFewCalls(t *testing.T) {
	eachHooked(t, func(t *testing.T, m *mail, d *hooked) {
		m.fill("u", 1100, time.Minute)
		m.fill("v", 50, time.Minute)
		m.fill("w", 300, 24*time.Hour)
		m.Pass(time.Hour)
		d.calls.Store(0)
		if n := m.sweep(10_000); n != 1150 {
			t.Errorf("handled %d", n)
		}
		// Three pages; a batch of a hundred reads and commits.
		if calls := d.calls.Load(); calls > 3+2*15 {
			t.Errorf("in %d calls", calls)
		}
		d.calls.Store(0)
		if n := m.sweep(10_000); n != 0 || d.calls.Load() != 1 {
			t.Errorf("handled %d more, in %d calls", n, d.calls.Load())
		}
	})
}

func TestAMessageThatIsReadDuringASweepIsKept(t *testing.T) {
	eachHooked(t, func(t *testing.T, m *mail, d *hooked) {
		last := m.send(SendInput{MessageType: "DIRECTIVE", TTL: 86_400})
		for range MaxDeliveries - 1 {
			m.views(beta, GetInput{})
			m.Pass(Redeliver)
		}
		m.views(beta, GetInput{})
		unread, directive := m.send(SendInput{TTL: 60}), m.send(SendInput{TTL: 60, MessageType: "DIRECTIVE"})
		gone, orphan := m.send(SendInput{TTL: 60}), m.send(SendInput{TTL: 60})
		late := *m.Service // an instance whose clock is behind
		then := m.Clock.Now()
		late.Now = func() time.Time { return then.Add(59 * time.Second) }
		var fresh string
		d.then = func() {
			d.then = nil
			fresh = m.send(SendInput{Message: "fresh", TTL: 3600})
			if _, err := late.Ack(t.Context(), beta, AckInput{MessageIDs: []string{last}}); err != nil {
				t.Error(err)
			}
			out, err := late.Get(t.Context(), beta, op.Fill(GetInput{Limit: 2}))
			if err != nil || len(out.Messages) != 2 {
				t.Errorf("read %+v, %v", out, err)
			}
			err = m.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				messages.Delete(tx, gone)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		m.Pass(3 * time.Minute)
		if n := m.sweep(10); n != 5 {
			t.Errorf("the sweep saw %d", n)
		}
		if v := m.stored(last); v.State != Acked {
			t.Errorf("what was acknowledged is %+v", v)
		}
		if _, there := m.kept(unread); there {
			t.Error("what was read, and expired, is there")
		}
		if v := m.stored(directive); v.State != Dead || v.Deliveries != 1 {
			t.Errorf("the directive that was read and expired is %+v", v)
		}
		if v := m.stored(orphan); v.State != Dead || v.Deliveries != 0 {
			t.Errorf("what nobody read is %+v", v)
		}
		if v := m.stored(fresh); v.State != Pending {
			t.Errorf("what came meanwhile is %+v", v)
		}
		if _, there := m.kept(gone); there {
			t.Error("what was deleted meanwhile is back")
		}
		if n := m.sweep(10); n != 0 {
			t.Errorf("handled %d more", n)
		}
	})
}

// broken is a driver whose commits for one user fail.
type broken struct {
	store.Driver
	user string
}

func (d *broken) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	return d.Driver.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
		writes, err := fn(ctx, r)
		if err == nil && len(writes) > 0 && writes[0].Ref.User == d.user {
			return nil, errors.New("no")
		}
		return writes, err
	})
}

func TestAFailureForOneUserDoesNotStopTheSweepOfOthers(t *testing.T) {
	eachHooked(t, func(t *testing.T, m *mail, d *hooked) {
		m.fill("u", 3, time.Minute)
		m.Pass(time.Second)
		m.fill("v", 3, time.Minute)
		m.Pass(time.Hour)
		d.Driver = &broken{d.Driver, "u"}
		if n, err := m.SweepRelay(t.Context(), store.NewAdmin(m.DB), 10); n != 3 || err == nil {
			t.Errorf("handled %d, %v", n, err)
		}
		d.Driver = d.Driver.(*broken).Driver
		if n := m.sweep(10); n != 3 {
			t.Errorf("handled %d of those that failed", n)
		}
	})
}

func TestSixteenReadersAndASweepLoseNothing(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		const n = 12
		for i := range n {
			m.send(SendInput{Message: fmt.Sprint("stale-", i), TTL: 60})
		}
		m.Pass(time.Hour)
		for i := range n {
			m.send(SendInput{Message: fmt.Sprint("live-", i)})
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]int{}
		for range 16 {
			wg.Go(func() {
				for {
					out, err := m.Get(t.Context(), beta, GetInput{Limit: 5})
					if fault.Is(err, fault.Conflict) {
						return // with nothing; it is for others to read
					}
					if err != nil {
						t.Error(err)
					}
					if err != nil || len(out.Messages) == 0 {
						return
					}
					mu.Lock()
					for _, v := range out.Messages {
						seen[v.Message]++
					}
					mu.Unlock()
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				for n := 7; n == 7; {
					var err error
					n, err = m.SweepRelay(t.Context(), store.NewAdmin(m.DB), 7)
					if err != nil && !fault.Is(err, fault.Conflict) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		m.sweep(100)
		for _, v := range m.views(beta, GetInput{Limit: 100}) {
			seen[v.Message]++
		}
		dead := m.dead(alpha)
		for i := range n {
			if live := fmt.Sprint("live-", i); seen[live] != 1 {
				t.Errorf("%s was handed out %d times", live, seen[live])
			}
			stale := fmt.Sprint("stale-", i)
			if got := strings.Count(dead+" ", stale+" "); got != 1 || seen[stale] != 0 {
				t.Errorf("%s is %d dead letters, and was handed out %d times", stale, got, seen[stale])
			}
		}
	})
}

func TestDeadLettersAreShownToTheirSenderAndRecipient(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		person, itself := loose, beta
		person.Kind, itself.Kind = identity.Human, identity.Human
		m.send(SendInput{Message: "to-beta", TTL: 60})
		m.send(SendInput{Message: "to-gamma", Target: "gamma", TTL: 60})
		m.multi(beta, SendInput{Message: "back", Target: "alpha", MessageType: "STATUS", TTL: 60})
		m.send(SendInput{Message: "live"})
		m.Pass(time.Minute)
		for _, c := range []identity.Caller{alpha, beta, loose} {
			text, err := json.Marshal(m.letters(c, DeadInput{}))
			if err != nil || string(text) != `{"messages":[]}` {
				t.Errorf("before the sweep: %s, %v", text, err)
			}
		}
		m.sweep(10)
		other := identity.Caller{User: "v", Program: "alpha"}
		for name, c := range map[string]struct {
			who  identity.Caller
			want int
			not  string
		}{
			"a sender":                   {alpha, 3, "live"},
			"a recipient who sent too":   {beta, 2, "to-gamma"},
			"a recipient":                {gamma, 1, "to-beta"},
			"a third":                    {domaintest.Bound("u", "zeta"), 0, "to"},
			"an unbound key":             {loose, 3, "live"},
			"a human":                    {person, 3, "live"},
			"a human's key of a program": {itself, 3, "live"}, "another user": {other, 0, "to"},
		} {
			if got := m.dead(c.who); len(strings.Fields(got)) != c.want || strings.Contains(got, c.not) {
				t.Errorf("%s sees %q", name, got)
			}
		}
	})
}

func TestADeadLetterHasItsReasonAndTime(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		query := m.send(SendInput{Message: "q", MessageType: "QUERY", TTL: 60})
		unread := m.send(SendInput{Message: "s", Target: "gamma", TTL: 120})
		m.get(beta, GetInput{})
		m.Pass(2 * time.Minute)
		m.get(beta, GetInput{}) // on whose way it is buried
		died := m.Clock.Now()
		m.Pass(5 * time.Minute)
		m.sweep(10)
		got := m.letters(alpha, DeadInput{}).Messages
		if len(got) != 2 || got[0].ID != unread || got[1].ID != query {
			t.Fatalf("%+v", got)
		}
		d := got[0]
		if d.Reason != "expired" || !d.DiedAt.Equal(m.Clock.Now()) || d.Status != Dead || d.Message != "s" ||
			d.Target != "gamma" {
			t.Errorf("what nobody read: %+v", d)
		}
		if d := got[1]; d.Reason != "unacknowledged" || !d.DiedAt.Equal(died) || d.Deliveries != 1 {
			t.Errorf("what nobody acknowledged: %+v", d)
		}
		m.ack(beta, query)
		if got := m.dead(alpha); got != "s" {
			t.Errorf("after the ack: %q", got)
		}
		if v := m.stored(query); v.State != Acked || v.Dead != nil || !v.DiedAt.IsZero() {
			t.Errorf("kept as %+v", v)
		}
	})
}

func TestDeadLettersArePagedNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for i := range 7 {
			m.send(SendInput{Message: fmt.Sprint(i), TTL: 60})
			m.Pass(time.Minute)
			m.sweep(10)
		}
		got, in := "", DeadInput{Limit: 3}
		for range 10 {
			out := m.letters(alpha, in)
			if len(out.Messages) > 3 {
				t.Fatalf("%d on a page", len(out.Messages))
			}
			for _, d := range out.Messages {
				got += d.Message
			}
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		if got != "6543210" {
			t.Errorf("the pages are %s", got)
		}
		page := m.letters(alpha, DeadInput{Limit: 1})
		for name, c := range map[string]identity.Caller{"another program": beta, "an unbound key": loose} {
			_, err := m.DeadLetters(t.Context(), c, DeadInput{Cursor: page.NextCursor})
			if domaintest.Fields(err) != "cursor" {
				t.Errorf("%s with alpha's cursor: %v", name, err)
			}
		}
	})
}
