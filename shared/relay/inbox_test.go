package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/task"
)

func TestEveryCombinationOfFiltersSelectsItsMessages(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		types, threads := []string{"STATUS", "QUERY"}, []string{"", "th1", "th2"}
		priorities := []task.Priority{task.Normal, task.High}
		for _, typ := range types {
			for _, p := range priorities {
				for _, th := range threads {
					m.send(SendInput{
						Message:     typ + "/" + string(p) + "/" + th,
						MessageType: typ,
						Priority:    p,
						ThreadID:    th,
					})
				}
			}
		}
		m.send(SendInput{Message: "elsewhere", Target: "gamma", ThreadID: "th1"})
		for _, typ := range append(types, "", "RESULT") {
			for _, p := range append(priorities, "", task.Low) {
				for _, th := range append(threads, "th3") {
					want := 0
					for _, a := range types {
						for _, b := range priorities {
							for _, c := range threads {
								if (typ == "" || typ == a) && (p == "" || p == b) && (th == "" || th == c) {
									want++
								}
							}
						}
					}
					in := GetInput{MessageType: typ, Priority: p, ThreadID: th, MarkAsRead: new(false)}
					if got := m.views(beta, in); len(got) != want {
						t.Errorf("%q %q %q: %s, want %d", typ, p, th, texts(got), want)
					}
				}
			}
		}
		got := m.get(beta, GetInput{ThreadID: "th1", MessageType: "QUERY", Priority: task.High})
		if got != "QUERY/high/th1" {
			t.Errorf("read: %s", got)
		}
		if got := m.views(beta, GetInput{}); len(got) != 11 {
			t.Errorf("the rest: %s", texts(got))
		}
	})
}

func TestTheHistoryIsPagedOldestFirst(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		want := ""
		for i := range 7 {
			m.send(SendInput{Message: fmt.Sprint(i), Priority: []task.Priority{task.Low, task.High}[i%2]})
			m.Pass(time.Millisecond)
			want += fmt.Sprint(i)
		}
		m.get(beta, GetInput{Limit: 3})
		m.send(SendInput{Message: "x", Target: "gamma"})
		got, in := "", GetInput{IncludeDelivered: true, Limit: 3}
		for range 10 {
			out, err := m.Get(t.Context(), beta, in)
			if err != nil || len(out.Messages) > 3 {
				t.Fatal(len(out.Messages), err)
			}
			got += strings.ReplaceAll(texts(out.Messages), " ", "")
			if in.Cursor = out.NextCursor; in.Cursor == "" {
				break
			}
		}
		if got != want {
			t.Errorf("the pages are %s", got)
		}
	})
}

func TestABadCursorIsNamed(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.send(SendInput{})
		m.send(SendInput{})
		page, err := m.Get(t.Context(), beta, GetInput{IncludeDelivered: true, Limit: 1})
		if err != nil || page.NextCursor == "" {
			t.Fatal(page, err)
		}
		for name, c := range map[string]struct {
			who identity.Caller
			in  GetInput
		}{
			"nonsense": {beta, GetInput{IncludeDelivered: true, Cursor: "nonsense"}},
			"of another filter": {
				beta, GetInput{IncludeDelivered: true, Cursor: page.NextCursor, Priority: task.High},
			},
			"of another program": {gamma, GetInput{IncludeDelivered: true, Cursor: page.NextCursor}},
			"without a history":  {beta, GetInput{Cursor: page.NextCursor}},
		} {
			if _, err := m.Get(t.Context(), c.who, c.in); domaintest.Fields(err) != "cursor" {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestABoundKeyReadsItsOwnInboxAlone(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		id := m.send(SendInput{})
		for _, in := range []GetInput{
			{Target: "beta"}, {Target: "beta", MarkAsRead: new(false)}, {Target: "beta", IncludeDelivered: true},
		} {
			_, err := m.Get(t.Context(), gamma, in)
			domaintest.Refused(t, "another's inbox", err, fault.Forbidden, `"beta"`, `"gamma"`)
		}
		if got := m.get(gamma, GetInput{SessionID: "beta.1"}); got != "" {
			t.Errorf("by another's session: %s", got)
		}
		if got := m.ack(gamma, id); len(got.Acked) != 0 || len(got.NotFound) != 1 || got.NotFound[0] != id {
			t.Errorf("another's ack: %+v", got)
		}
		if s := m.stored(id); s.State != Pending {
			t.Errorf("kept as %+v", s)
		}
		if got := m.get(beta, GetInput{Target: "beta"}); got != "hello" {
			t.Errorf("its own by name: %s", got)
		}
	})
}

func TestAnUnboundKeyNamesTheInbox(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for name, in := range map[string]GetInput{
			"a target":                  {Target: "beta"},
			"a session":                 {SessionID: "beta.7.x"},
			"a session without a dot":   {SessionID: "beta"},
			"a target before a session": {Target: "beta", SessionID: "gamma.1"},
		} {
			m.send(SendInput{Message: "for"})
			if got := m.get(loose, in); got != "for" {
				t.Errorf("%s: %q", name, got)
			}
		}
		for name, in := range map[string]GetInput{
			"nothing":                          {},
			"a session that begins with a dot": {SessionID: ".1"},
		} {
			if _, err := m.Get(t.Context(), loose, in); domaintest.Fields(err) != "target" {
				t.Errorf("%s: %v", name, err)
			}
		}
		id := m.send(SendInput{})
		if got := m.ack(loose, id); len(got.Acked) != 1 {
			t.Errorf("an unbound key's ack: %+v", got)
		}
	})
}

func TestABoundKeySendsAsItsProgramAlone(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		in := SendInput{Message: "x", Source: "gamma", Target: "beta", MessageType: "PING"}
		_, err := m.Send(t.Context(), alpha, in)
		domaintest.Refused(t, "another's name", err, fault.Forbidden, `"alpha"`, `"gamma"`)
		if _, err := m.Send(t.Context(), loose, in); err != nil {
			t.Fatal(err)
		}
		if got := m.views(beta, GetInput{}); len(got) != 1 || got[0].Source != "gamma" || got[0].Verified {
			t.Errorf("%+v", got)
		}
	})
}

func TestAnUnknownRecipientIsAcceptedWithAWarning(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		out, err := m.Send(t.Context(), alpha, SendInput{Message: "x", Target: "zeta", MessageType: "PING"})
		want := `no program named "zeta" is known; the message waits until one reads it. Known: alpha, beta, gamma`
		if err != nil || out.Warning != want {
			t.Errorf("%q, %v", out.Warning, err)
		}
		if got := m.get(domaintest.Bound("u", "zeta"), GetInput{}); got != "x" {
			t.Errorf("it got %q", got)
		}
		m.Directory = known{}
		out, err = m.Send(t.Context(), alpha, SendInput{Message: "x", Target: "zeta", MessageType: "PING"})
		if err != nil || strings.Contains(out.Warning, "Known") || out.Warning == "" {
			t.Errorf("with nobody known: %q, %v", out.Warning, err)
		}
		out, err = m.Send(t.Context(), alpha, SendInput{Message: "x", Target: "group:ops", MessageType: "PING"})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("a group that is not there: %+v, %v", out, err)
		}
	})
}

func TestAMessageWithAnIdempotencyKeyIsSentOnce(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		in := SendInput{
			Idempotency: op.Idempotency{IdempotencyKey: "k"},
			Message:     "x",
			Target:      "beta",
			MessageType: "PING",
		}
		first, err := m.Send(t.Context(), alpha, in)
		if err != nil {
			t.Fatal(err)
		}
		m.Pass(time.Hour)
		m.Directory = known{} // the directory's record of the recipient is no part of the result
		if again, err := m.Send(t.Context(), alpha, in); err != nil || !reflect.DeepEqual(again, first) {
			t.Errorf("%+v, first %+v, %v", again, first, err)
		}
		in.Message = "y"
		_, err = m.Send(t.Context(), alpha, in)
		domaintest.Refused(t, "another text", err, fault.Precondition, `"k"`)
		if got := m.get(beta, GetInput{}); got != "x" {
			t.Errorf("delivered %s", got)
		}
	})
}

func TestOfTwoReadersEachMessageGoesToOne(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		n := domaintest.Crowd(t, 40, 15)
		for i := range n {
			m.send(SendInput{Message: fmt.Sprint(i)})
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]int{}
		for range 2 {
			wg.Go(func() {
				for {
					out, err := m.Get(t.Context(), beta, GetInput{Limit: 5})
					if fault.Is(err, fault.Conflict) && t.Context().Err() == nil {
						continue // which says that it may be repeated
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
		wg.Wait()
		for i := range n {
			if seen[fmt.Sprint(i)] != 1 {
				t.Errorf("message %d was handed out %d times", i, seen[fmt.Sprint(i)])
			}
		}
	})
}

func TestAWaitingReaderIsWokenByItsMail(t *testing.T) {
	for name, in := range map[string]GetInput{
		"reading": {WaitMs: 20_000}, "peeking": {WaitMs: 20_000, MarkAsRead: new(false)},
		"filtered": {WaitMs: 20_000, MessageType: "QUERY", ThreadID: "th"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, m *mail) {
				got, reads := make(chan string, 1), m.Reads()
				go func() {
					out, err := m.Get(t.Context(), beta, in)
					if err != nil {
						t.Error(err)
					}
					got <- texts(out.Messages)
				}()
				<-reads // the first look
				<-reads // and the one after the listener stands
				m.send(SendInput{Message: "other", Target: "gamma", MessageType: "QUERY", ThreadID: "th"})
				m.send(SendInput{Message: "mine", MessageType: "QUERY", ThreadID: "th"})
				if text := <-got; text != "mine" {
					t.Errorf("woken for %q", text)
				}
			})
		})
	}
}

func TestAnEmptyInboxIsSmall(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for _, in := range []GetInput{{}, {MarkAsRead: new(false)}, {IncludeDelivered: true}, {WaitMs: 1}} {
			out, err := m.Get(t.Context(), beta, in)
			text, jsonErr := json.Marshal(out)
			if err != nil || jsonErr != nil || len(text) >= 500 || string(text) != `{"messages":[]}` {
				t.Errorf("%s, %v", text, errors.Join(err, jsonErr))
			}
		}
	})
}
