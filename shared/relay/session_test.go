package relay

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// withSessions makes two sessions of beta and one of gamma live.
func (m *mail) withSessions() *mail {
	m.Live = known{"beta", "beta/1", "beta/2", "gamma", "gamma/1"}
	return m
}

func TestMailForASessionReachesThatSessionAlone(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.withSessions()
		m.send(SendInput{Message: "for-two", Target: "Beta/2"})
		m.send(SendInput{Message: "for-all"})
		for _, in := range []GetInput{{}, {SessionID: "beta/1", MarkAsRead: new(false)}, {SessionID: "1", MarkAsRead: new(false)}} {
			in.MarkAsRead = new(false)
			if got := m.get(beta, in); got != "for-all" {
				t.Errorf("%+v reads %q", in, got)
			}
		}
		if got := m.get(beta, GetInput{SessionID: "2"}); got != "for-two for-all" {
			t.Errorf("the session reads %q", got)
		}
		if got := m.get(beta, GetInput{Target: "beta/2", SessionID: "2", IncludeDelivered: true}); got != "for-two" {
			t.Errorf("the inbox of the session alone has %q", got)
		}
	})
}

func TestASessionReadsNoMailOfAnother(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.withSessions()
		id := m.send(SendInput{Message: "for-two", Target: "beta/2"})
		_, err := m.Get(t.Context(), beta, GetInput{Target: "beta/2", SessionID: "beta/1", MarkAsRead: new(true)})
		domaintest.Refused(t, "another session", err, fault.Forbidden, "beta/2", "beta/1")
		_, err = m.Get(t.Context(), beta, GetInput{Target: "beta/2", MarkAsRead: new(true)})
		domaintest.Refused(t, "a call of no session", err, fault.Forbidden, "beta/2", "no session")
		_, err = m.Get(t.Context(), loose, GetInput{Target: "zz", SessionID: "beta/2", MarkAsRead: new(true)})
		domaintest.Refused(t, "a session of another program than the target", err, fault.Forbidden, "beta/2", `"zz"`)
		other := beta
		other.Session = "beta/1"
		if out := m.ack(other, id); len(out.NotFound) != 1 {
			t.Errorf("another session acknowledged it: %+v", out)
		}
		_, err = m.Get(t.Context(), beta, GetInput{Target: "beta/*", MarkAsRead: new(true)})
		domaintest.Refused(t, "all sessions at once", err, fault.Forbidden, "beta/*")
		_, err = m.Get(t.Context(), gamma, GetInput{Target: "beta/2", MarkAsRead: new(true)})
		domaintest.Refused(t, "another program", err, fault.Forbidden, `"gamma"`, `"beta"`)
		if got := m.get(domaintest.Human("u"), GetInput{Target: "beta/*", MarkAsRead: new(false)}); got != "for-two" {
			t.Errorf("a person sees %q", got)
		}
	})
}

func TestMailForASessionThatIsNotLiveGoesToItsProgramWithAMark(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.withSessions()
		out := domaintest.Must(m.Send(t.Context(), alpha, SendInput{Message: "late", Target: "beta/9", MessageType: "STATUS",
			TTL: 60}))(t)
		if out.Target != "beta" || !strings.Contains(out.Warning, "beta/9 is no live session") {
			t.Errorf("answered %+v", out)
		}
		got := m.views(beta, GetInput{SessionID: "1"})
		if len(got) != 1 || got[0].Message != "late" || got[0].AddressedTo != "beta/9" || got[0].Target != "beta" {
			t.Errorf("read %+v", got)
		}
	})
}

func TestTheEndOfASessionGivesItsUnreadMailToItsProgram(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.withSessions()
		m.send(SendInput{Message: "read", Target: "beta/2"})
		m.send(SendInput{Message: "directed", Target: "beta/2", MessageType: "DIRECTIVE"})
		if got := m.get(beta, GetInput{SessionID: "2"}); got != "read directed" {
			t.Fatalf("the session reads %q", got)
		}
		m.send(SendInput{Message: "unread", Target: "beta/2"})
		m.send(SendInput{Message: "not-its", Target: "beta/1"})
		for range 2 { // the second time changes nothing
			domaintest.Check(t, m.Forward(t.Context(), "u", "beta/2"))
		}
		m.Pass(Redeliver)
		got := m.views(beta, GetInput{})
		if texts(got) != "unread directed" || got[0].AddressedTo != "beta/2" || got[1].AddressedTo != "beta/2" {
			t.Errorf("the program reads %+v", got)
		}
		if n := domaintest.Must(m.Waiting(t.Context(), "u", "beta", 10))(t); n != 1 {
			t.Errorf("%d messages wait for the program and its sessions, want that of the other session", n)
		}
	})
}

func TestMoreMailThanOneTransactionForwardsIsForwarded(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.Live = known{"beta/1"}
		for range forwardBatch + 3 {
			m.send(SendInput{Target: "beta/1"})
		}
		domaintest.Check(t, m.Forward(t.Context(), "u", "beta/1"))
		if got := len(m.views(beta, GetInput{Limit: 100})) + len(m.views(beta, GetInput{Limit: 100})); got != forwardBatch+3 {
			t.Errorf("the program reads %d", got)
		}
	})
}

func TestDeliveryToEachIsACopyForEveryLiveSessionButTheSenders(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.withSessions()
		in := SendInput{Message: "all-of-you", Target: "beta", MessageType: "STATUS", Delivery: "each", TTL: 60}
		out := domaintest.Must(m.Send(t.Context(), alpha, in))(t)
		if out.Recipients != 2 || len(out.MessageIDs) != 2 || out.Warning != "" {
			t.Errorf("answered %+v", out)
		}
		in.SessionID, in.Message = "beta/1", "from-one"
		if out := domaintest.Must(m.Send(t.Context(), beta, in))(t); out.Recipients != 1 {
			t.Errorf("a session's own message reaches %d", out.Recipients)
		}
		for session, want := range map[string]string{"1": "all-of-you", "2": "all-of-you from-one"} {
			if got := m.get(beta, GetInput{SessionID: session}); got != want {
				t.Errorf("session %s reads %q, want %q", session, got, want)
			}
		}
	})
}

func TestDeliveryToEachOfAProgramWithoutSessionsWaitsInItsInbox(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.Live = known{}
		out := domaintest.Must(m.Send(t.Context(), alpha, SendInput{Message: "hello", Target: "beta",
			MessageType: "STATUS", Delivery: "each", TTL: 60}))(t)
		if out.Target != "beta" || !strings.Contains(out.Warning, "no live session") {
			t.Errorf("answered %+v", out)
		}
		if got := m.get(beta, GetInput{}); got != "hello" {
			t.Errorf("the program reads %q", got)
		}
	})
}

func TestDeliveryToEachNeedsAProgramAsTheTarget(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.withSessions()
		for _, target := range []string{"all", "group:g", "beta/1"} {
			_, err := m.Send(t.Context(), alpha, SendInput{Message: "x", Target: target, MessageType: "STATUS",
				Delivery: "each"})
			domaintest.Refused(t, target, err, fault.Invalid, "program")
		}
	})
}

func TestAMessageHasTheAddressOfTheSessionThatSentIt(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for name, c := range map[string]struct {
			by            identity.Caller
			session, want string
		}{
			"an id":                      {alpha, "3", "alpha/3"},
			"an address":                 {alpha, "alpha/3", "alpha/3"},
			"none":                       {alpha, "", ""},
			"an id of a key without one": {loose, "3", ""},
		} {
			domaintest.Must(m.Send(t.Context(), c.by, SendInput{Message: "x", Source: c.by.Program, Target: "beta",
				MessageType: "STATUS", SessionID: c.session, TTL: 60}))(t)
			if got := m.views(beta, GetInput{}); len(got) != 1 || got[0].SourceSession != c.want {
				t.Errorf("%s: read %+v, want %q", name, got, c.want)
			}
		}
	})
}

func TestAMessageOfASessionIsAcknowledgedAndBuriedAsItsPrograms(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.withSessions()
		id := m.send(SendInput{Target: "beta/1", MessageType: "QUERY"})
		m.get(beta, GetInput{SessionID: "1"})
		if out := m.ack(gamma, id); len(out.NotFound) != 1 {
			t.Errorf("another program acknowledged it: %+v", out)
		}
		if out := m.ack(beta, id); len(out.Acked) != 1 {
			t.Errorf("its program did not: %+v", out)
		}
		m.send(SendInput{Message: "never-read", Target: "beta/1", TTL: 60})
		m.Pass(2 * time.Minute)
		m.sweep(10)
		if got := m.dead(beta); got != "never-read" {
			t.Errorf("its program's dead letters are %q", got)
		}
	})
}
