package relay

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

func to(target string) SendInput {
	return SendInput{Message: "hear", Target: target, MessageType: "STATUS"}
}

func (m *mail) multi(c identity.Caller, in SendInput) SendOutput {
	m.t.Helper()
	out, err := m.Send(m.t.Context(), c, in)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

func TestAMessageToAGroupIsACopyForEachMemberButTheSender(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.group("ops", "gamma", "alpha", "beta", "gamma")
		out := m.multi(alpha, SendInput{Message: "hear", Target: "group:ops", MessageType: "QUERY", TTL: 3600})
		want := SendOutput{MessageID: "id-000001", MulticastID: "id-000001", MessageIDs: []string{
			copyID("id-000001", "beta"), copyID("id-000001", "gamma"),
		}, Recipients: 2,
			Source: "alpha", Verified: true, Target: "group:ops", CreatedAt: t0, ExpiresAt: t0.Add(3600e9)}
		if !reflect.DeepEqual(out, want) {
			t.Fatalf("%+v", out)
		}
		for i, c := range []identity.Caller{beta, gamma} {
			got := m.views(c, GetInput{})
			if len(got) != 1 || got[0].Message != "hear" || got[0].Target != c.Program ||
				got[0].MulticastID != "id-000001" ||
				got[0].ID != out.MessageIDs[i] ||
				!got[0].ExpiresAt.Equal(out.ExpiresAt) {
				t.Errorf("%s got %+v", c.Program, got)
			}
		}
		if got := m.get(alpha, GetInput{}); got != "" {
			t.Errorf("the sender got %q", got)
		}
		m.ack(beta, out.MessageIDs[0])
		if a, b := m.stored(out.MessageIDs[0]), m.stored(out.MessageIDs[1]); a.State != Acked || b.State != Delivered {
			t.Errorf("one's ack: %s, %s", a.State, b.State)
		}
		got := m.multi(loose, SendInput{
			Message:     "all of you",
			Source:      "beta",
			Target:      "group:ops",
			MessageType: "STATUS",
		})
		if got.Recipients != 2 {
			t.Errorf("of an unbound key: %+v", got)
		}
		if got := m.get(alpha, GetInput{}) + m.get(beta, GetInput{}); got != "all of you" {
			t.Errorf("alpha and beta got %q", got)
		}
	})
}

func TestAMessageToOneIsNoMulticast(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		if out := m.multi(alpha, to("beta")); out.MulticastID != "" || out.MessageIDs != nil || out.Recipients != 0 {
			t.Errorf("%+v", out)
		}
		if got := m.views(beta, GetInput{}); len(got) != 1 || got[0].MulticastID != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheFaultOfAMissingGroupListsGroupsThatExist(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		_, err := m.Send(t.Context(), alpha, to("group:ops"))
		domaintest.Refused(t, "no groups", err, fault.NotFound, `"ops"`, "set_group")
		m.group("mine", "alpha")
		m.group("dev", "beta")
		_, err = m.Send(t.Context(), alpha, to("group:ops"))
		domaintest.Refused(t, "another", err, fault.NotFound, `"ops"`, "dev, mine")
		if strings.Contains(err.Error(), "more") {
			t.Errorf("%v", err)
		}
		_, err = m.Send(t.Context(), alpha, to("group:mine"))
		domaintest.Refused(t, "alone", err, fault.Precondition, "mine", "sender")
		for i := range shownGroups {
			m.group(fmt.Sprintf("g%02d", i), "beta")
		}
		_, err = m.Send(t.Context(), alpha, to("group:ops"))
		domaintest.Refused(t, "of many", err, fault.NotFound, "dev, g00", "list_groups")
		other := identity.Caller{User: "v", Program: "alpha"}
		_, err = m.Send(t.Context(), other, to("group:dev"))
		domaintest.Refused(t, "another user's", err, fault.NotFound, "nor any other")
		if got := m.get(beta, GetInput{}) + m.get(alpha, GetInput{}); got != "" {
			t.Errorf("what was refused came: %s", got)
		}
	})
}

func TestUnknownMembersAreAcceptedWithAWarning(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		out, err := m.SetGroup(t.Context(), alpha, SetGroupInput{Name: "ops", Members: []string{"zeta", "beta", "eta"}})
		want := `no program named "eta", "zeta" is known; the message waits until one reads it. Known: alpha, beta, gamma`
		if err != nil || out.Warning != `no program named "eta", "zeta" is known. Known: alpha, beta, gamma` ||
			out.Removed {
			t.Errorf("%+v, %v", out, err)
		}
		if sent := m.multi(alpha, to("group:ops")); sent.Warning != want || sent.Recipients != 3 {
			t.Errorf("%+v", sent)
		}
		if got := m.get(domaintest.Bound("u", "zeta"), GetInput{}); got != "hear" {
			t.Errorf("zeta got %q", got)
		}
		out, err = m.SetGroup(t.Context(), alpha, SetGroupInput{Name: "ops", Members: []string{"beta"}})
		if err != nil || out.Warning != "" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestSettingAGroupReplacesItsMembersAndAnEmptyListRemovesIt(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		list := func(in ListGroupsInput) (names string, next string) {
			out, err := m.ListGroups(t.Context(), beta, in)
			if err != nil || out.Groups == nil {
				t.Fatal(out, err)
			}
			for _, g := range out.Groups {
				names += fmt.Sprintf("%s%v ", g.Name, g.Members)
			}
			return strings.TrimSpace(names), out.NextCursor
		}
		if got, _ := list(ListGroupsInput{}); got != "" {
			t.Errorf("at first %s", got)
		}
		m.group("ops", "gamma", "beta", "gamma")
		m.group("dev", "alpha")
		m.group("qa.1_x-y", "alpha")
		if got, next := list(ListGroupsInput{}); got != "dev[alpha] ops[beta gamma] qa.1_x-y[alpha]" || next != "" {
			t.Errorf("%s, %s", got, next)
		}
		m.group("ops", "alpha")
		got, next := list(ListGroupsInput{Limit: 2})
		if got != "dev[alpha] ops[alpha]" || next == "" {
			t.Errorf("the first page is %s", got)
		}
		if got, next := list(ListGroupsInput{Limit: 2, Cursor: next}); got != "qa.1_x-y[alpha]" || next != "" {
			t.Errorf("the second page is %s, %s", got, next)
		}
		for range 2 {
			out, err := m.SetGroup(t.Context(), alpha, SetGroupInput{Name: "ops", Members: []string{}})
			if err != nil || !out.Removed || out.Members == nil || len(out.Members) != 0 || out.Name != "ops" {
				t.Errorf("%+v, %v", out, err)
			}
		}
		if got, _ := list(ListGroupsInput{}); got != "dev[alpha] qa.1_x-y[alpha]" {
			t.Errorf("then %s", got)
		}
		_, err := m.ListGroups(t.Context(), beta, ListGroupsInput{Cursor: "nonsense"})
		if domaintest.Fields(err) != "cursor" {
			t.Error(err)
		}
		if _, err := m.Send(t.Context(), beta, to("group:ops")); !fault.Is(err, fault.NotFound) {
			t.Errorf("a removed group: %v", err)
		}
	})
}

type fails struct{ known }

func (fails) Programs(context.Context, string) ([]string, error) {
	return nil, fault.New(fault.Unavailable, "not now")
}

func TestAllIsEveryProgramWithALiveSessionButTheSender(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for name, live := range map[string]Presence{
			"no port":          nil,
			"nobody":           known{},
			"the sender alone": known{"alpha", "alpha"},
		} {
			m.Live = live
			_, err := m.Send(t.Context(), alpha, to("all"))
			domaintest.Refused(t, name, err, fault.Precondition, "live session")
		}
		m.Live = fails{}
		_, err := m.Send(t.Context(), alpha, to("all"))
		domaintest.Refused(t, "a port that fails", err, fault.Unavailable)
		m.Live = known{"zeta", "beta", "alpha", "", "beta"}
		out := m.multi(alpha, to("all"))
		if out.Recipients != 2 || out.MulticastID != out.MessageID || out.Target != "all" || out.Warning != "" ||
			len(out.MessageIDs) != 2 {
			t.Errorf("%+v", out)
		}
		got := m.get(
			beta,
			GetInput{},
		) + " " + m.get(
			domaintest.Bound("u", "zeta"),
			GetInput{},
		) + m.get(
			alpha,
			GetInput{},
		) + m.get(
			gamma,
			GetInput{},
		)
		if got != "hear hear" {
			t.Errorf("got %q", got)
		}
	})
}

func many(n int) known {
	out := make(known, n)
	for i := range out {
		out[i] = fmt.Sprintf("p%03d", i)
	}
	return out
}

func TestOneCallReachesNoMoreThanATransactionWrites(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		keyed := to("all")
		keyed.IdempotencyKey = "k"
		m.Live = many(501)
		_, err := m.Send(t.Context(), alpha, to("all"))
		domaintest.Refused(t, "501", err, fault.Precondition, "501", "at most 500")
		m.Live = many(500)
		_, err = m.Send(t.Context(), alpha, keyed)
		domaintest.Refused(t, "500 with a key", err, fault.Precondition, "500", "at most 499")
		long := to("all")
		long.Message, long.Context = strings.Repeat("𝄞", 4000), strings.Repeat("𝄞", 2000)
		_, err = m.Send(t.Context(), alpha, long)
		domaintest.Refused(t, "too much text", err, fault.Precondition, "too long", "500")
		if got := m.get(domaintest.Bound("u", "p007"), GetInput{}); got != "" {
			t.Fatalf("what was refused came: %s", got)
		}
		if out := m.multi(alpha, to("all")); out.Recipients != 500 {
			t.Errorf("%d recipients", out.Recipients)
		}
		m.Live = many(499)
		if out := m.multi(alpha, keyed); out.Recipients != 499 {
			t.Errorf("%d recipients with a key", out.Recipients)
		}
		got := m.get(
			domaintest.Bound("u", "p000"),
			GetInput{},
		) + ", " + m.get(
			domaintest.Bound("u", "p499"),
			GetInput{},
		)
		if got != "hear hear, hear" {
			t.Errorf("the first and the last got %s", got)
		}
	})
}

func TestAMulticastWithAnIdempotencyKeyIsSentOnce(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.group("ops", "beta", "gamma")
		m.Live = known{"beta", "gamma"}
		for _, target := range []string{"group:ops", "all"} {
			in := to(target)
			in.Idempotency = op.Idempotency{IdempotencyKey: "k of " + target}
			first := m.multi(alpha, in)
			m.group("ops")
			m.Live, m.Directory = nil, known{}
			if again := m.multi(alpha, in); !reflect.DeepEqual(again, first) {
				t.Errorf("%s: %+v, first %+v", target, again, first)
			}
			in.Message = "other"
			_, err := m.Send(t.Context(), alpha, in)
			domaintest.Refused(t, target, err, fault.Precondition, "send_message")
			for _, c := range []identity.Caller{beta, gamma} {
				if got := m.get(c, GetInput{}); got != "hear" {
					t.Errorf("%s: %s got %q", target, c.Program, got)
				}
			}
			m.Live = known{"beta", "gamma"}
		}
	})
}

func TestEightConcurrentMulticastsAllArrive(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		members := many(8)
		m.group("ops", members...)
		failed := domaintest.Together(len(members), func(i int) error {
			in := to("group:ops")
			in.Message, in.IdempotencyKey = members[i], members[i]
			return domaintest.Retry(t.Context(), func() error {
				out, err := m.Send(t.Context(), domaintest.Bound("u", members[i]), in)
				if err == nil && out.Recipients != len(members)-1 {
					t.Errorf("%s: %+v", members[i], out)
				}
				return err
			})
		})
		if len(failed) > 0 {
			t.Error(failed)
		}
		for _, p := range members {
			got := strings.Fields(m.get(domaintest.Bound("u", p), GetInput{}))
			slices.Sort(got)
			if want := withoutSender(members, p); !slices.Equal(got, want) {
				t.Errorf("%s got %q", p, got)
			}
		}
	})
}

// A group that changes meanwhile gets a message as it was, or as it is: never half.
func TestAMessageGoesToTheMembersBeforeOrAfterAChangeOfAGroup(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		old, fresh := []string{"a1", "a2", "a3"}, []string{"b1", "b2"}
		m.group("ops", old...)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 5 {
				m.group("ops", fresh...)
				m.group("ops", old...)
			}
		})
		sent := map[string]int{}
		for range 10 {
			out, err := m.Send(t.Context(), alpha, to("group:ops"))
			for fault.Is(err, fault.Conflict) && t.Context().Err() == nil {
				out, err = m.Send(t.Context(), alpha, to("group:ops"))
			}
			if err != nil {
				t.Error(err)
				break
			}
			for _, members := range [][]string{old, fresh} {
				if out.MessageIDs[0] != copyID(out.MulticastID, members[0]) {
					continue
				}
				if len(out.MessageIDs) != len(members) {
					t.Errorf("%d of %q", len(out.MessageIDs), members)
				}
				for _, p := range members {
					sent[p]++
				}
			}
		}
		wg.Wait()
		for _, p := range slices.Concat(old, fresh) {
			if got := len(m.views(domaintest.Bound("u", p), GetInput{Limit: 100})); got != sent[p] {
				t.Errorf("%s got %d of %d", p, got, sent[p])
			}
		}
	})
}
