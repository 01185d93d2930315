package relay

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// The other callers of the user u: a person, and two unbound keys that know which programs have keys of their own.
var (
	person       = domaintest.Human("u")
	scout, drift = unbound("5c00000000000000"), unbound("d200000000000000")
)

func unbound(keyID string) identity.Caller {
	return identity.Caller{User: "u", KeyID: keyID, Kind: identity.Agent, Reserved: []string{"alpha", "beta", "gamma"}}
}

func TestAttackNobodyReadsOrAcknowledgesTheMailOfAProgram(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		id := m.send(SendInput{Message: "secret", MessageType: "QUERY"})
		for who, c := range map[string]identity.Caller{"another program": gamma, "its sender": alpha, "an unbound key": scout} {
			for _, in := range []GetInput{{Target: "beta"}, {Target: "BETA"}, {Target: "beta", IncludeDelivered: true}} {
				domaintest.Refused(t, who, domaintest.Err(m.Get(t.Context(), c, in)), fault.Forbidden)
			}
			out, err := m.Ack(t.Context(), c, AckInput{MessageIDs: []string{id}})
			if err != nil || len(out.Acked) != 0 || !slices.Equal(out.NotFound, []string{id}) {
				t.Errorf("%s acknowledges it: %+v, %v", who, out, err)
			}
		}
		domaintest.Refused(t, "by its session", domaintest.Err(m.Get(t.Context(), scout, GetInput{SessionID: "Beta.1"})),
			fault.Forbidden, `"beta"`)
		if got := m.get(person, GetInput{Target: "beta", MarkAsRead: new(bool)}); got != "secret" {
			t.Errorf("a person sees %q", got)
		}
		if got := m.get(beta, GetInput{}); got != "secret" {
			t.Errorf("beta gets %q", got)
		}
		if out, err := m.Ack(t.Context(), person, AckInput{MessageIDs: []string{id}}); err != nil || len(out.Acked) != 1 {
			t.Errorf("a person acknowledges it: %+v, %v", out, err)
		}
	})
}

func TestAttackNobodySendsUnderTheNameOfAProgram(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		say := func(source string) SendInput {
			return SendInput{Message: "m", Source: source, Target: "beta", MessageType: "STATUS"}
		}
		for _, c := range []struct {
			by     identity.Caller
			source string
		}{
			{gamma, "alpha"}, {gamma, "ALPHA"}, {gamma, "scout"}, {scout, "alpha"}, {scout, "Alpha"}, {scout, "alpha "},
			{scout, "parley"}, {scout, "PARLEY"}, {person, "parley"},
		} {
			domaintest.Refused(t, c.by.Actor()+" as "+c.source, domaintest.Err(m.Send(t.Context(), c.by, say(c.source))),
				fault.Forbidden)
		}
		for _, c := range []struct {
			by       identity.Caller
			source   string
			want     string
			verified bool
		}{
			{alpha, "", "alpha", true}, {alpha, "Alpha", "alpha", true}, {scout, "scout", "scout", false},
			{person, "ALPHA", "alpha", false},
		} {
			out, err := m.Send(t.Context(), c.by, say(c.source))
			if err != nil || out.Source != c.want || out.Verified != c.verified {
				t.Errorf("%s as %q: %+v, %v", c.by.Actor(), c.source, out, err)
			}
		}
	})
}

func TestAProgramGetsItsMailInAnySpelling(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for _, name := range []string{"beta", "BETA", "Beta"} {
			out := domaintest.Must(m.Send(t.Context(), alpha, SendInput{Message: name, Target: name, MessageType: "QUERY"}))(t)
			if out.Target != "beta" || out.Warning != "" {
				t.Errorf("%s: %+v", name, out)
			}
		}
		m.send(SendInput{Message: "free", Target: "Scout"})
		loud := domaintest.Bound("u", "BETA")
		if got := m.get(loud, GetInput{MessageType: "QUERY", MarkAsRead: new(bool)}); got != "beta BETA Beta" {
			t.Errorf("its key in capitals gets %q", got)
		}
		if got := m.get(beta, GetInput{}); got != "beta BETA Beta" {
			t.Errorf("beta gets %q", got)
		}
		if got := m.get(scout, GetInput{Target: "SCOUT"}); got != "free" {
			t.Errorf("scout gets %q", got)
		}
	})
}

func TestMailFromBeforeNamesWereFoldedIsFound(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		loud := domaintest.Bound("u", "Beta")
		older := Message{Source: "Alpha", Text: "older", Type: "STATUS", Priority: "normal"}
		older.Post("Beta", t0, time.Hour)
		dead := older
		dead.Text = "dead"
		dead.Bury(t0)
		dead.Dead = []string{everyone, "Alpha", "Beta"}
		for i := range older.Boxes {
			older.Boxes[i] = strings.Replace(older.Boxes[i], "beta", "Beta", 1)
		}
		dead.Boxes = nil
		domaintest.Check(t, m.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			messages.Put(tx, "older", older)
			messages.Put(tx, "dead", dead)
			return nil
		}))
		if got := m.get(loud, GetInput{}); got != "older" {
			t.Errorf("the inbox is %q", got)
		}
		for _, c := range []identity.Caller{loud, domaintest.Bound("u", "Alpha")} {
			if got := m.dead(c); got != "dead" {
				t.Errorf("%s has the dead letters %q", c.Program, got)
			}
		}
	})
}

func TestAnUnboundKeySeesTheDeadLettersOfItsOwnAndOfFreeNames(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		for _, c := range []struct {
			by             identity.Caller
			source, target string
		}{
			{alpha, "", "beta"}, {alpha, "", "scout"}, {person, "", "beta"}, {person, "boss", "beta"},
			{scout, "scout", "beta"}, {drift, "scout", "beta"},
		} {
			domaintest.Must(m.Send(t.Context(), c.by, SendInput{Message: c.by.Actor() + ">" + c.target, Source: c.source,
				Target: c.target, MessageType: "STATUS", TTL: 60}))(t)
		}
		m.Pass(time.Hour)
		m.sweep(10)
		for _, c := range []struct {
			by   identity.Caller
			want string
		}{
			{scout, "alpha>scout key:5c0000000000>beta"}, {drift, "alpha>scout key:d20000000000>beta"},
			{gamma, ""}, {alpha, "alpha>beta alpha>scout"},
		} {
			got := strings.Fields(m.dead(c.by))
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s sees %q, want %q", c.by.Actor(), got, c.want)
			}
		}
		if got := strings.Fields(m.dead(person)); len(got) != 6 {
			t.Errorf("a person sees %q", got)
		}
	})
}

func TestAttackAGroupIsItsMakers(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		yes, no := true, false
		members := func(names ...string) SetGroupInput {
			return SetGroupInput{Name: "crew", Members: append([]string{}, names...)}
		}
		opened := func(open *bool, names ...string) SetGroupInput {
			in := members(names...)
			in.Open = open
			return in
		}
		reset := func(open bool) {
			t.Helper()
			domaintest.Must(m.SetGroup(t.Context(), alpha, opened(&open, "beta", "gamma")))(t)
		}
		zeta, loud := domaintest.Bound("u", "zeta"), SetGroupInput{Name: "CREW", Members: []string{"zeta"}}
		for name, c := range map[string]struct {
			by   identity.Caller
			open bool
			in   SetGroupInput
			want bool
		}{
			"the maker changes it":                      {alpha, false, members("alpha"), true},
			"the maker opens it":                        {alpha, false, opened(&yes, "beta"), true},
			"the maker removes it":                      {alpha, false, members(), true},
			"a person changes it":                       {person, false, members("zeta"), true},
			"a person removes it":                       {person, false, members(), true},
			"a member leaves":                           {beta, false, members("gamma"), true},
			"a member leaves, in capitals":              {domaintest.Bound("u", "BETA"), false, members("GAMMA"), true},
			"a member puts another out":                 {beta, false, members("beta"), false},
			"a member puts another in":                  {beta, false, members("beta", "gamma", "delta"), false},
			"a member puts another in its place":        {beta, false, members("delta", "gamma"), false},
			"a member removes it":                       {beta, false, members(), false},
			"a member opens it":                         {beta, false, opened(&yes, "beta", "gamma"), false},
			"a member leaves and opens it":              {beta, false, opened(&yes, "gamma"), false},
			"a program joins":                           {zeta, false, members("beta", "gamma", "zeta"), false},
			"a program joins an open one":               {zeta, true, members("beta", "gamma", "zeta"), true},
			"a program joins and brings another":        {zeta, true, members("beta", "gamma", "zeta", "eta"), false},
			"a program joins and puts another out":      {zeta, true, members("beta", "zeta"), false},
			"a program joins and closes it":             {zeta, true, opened(&no, "beta", "gamma", "zeta"), false},
			"a member of an open one puts another out":  {beta, true, members("beta"), false},
			"a program changes nothing":                 {zeta, false, members("gamma", "BETA"), true},
			"an unbound key changes it":                 {scout, true, members("beta", "gamma", "scout"), false},
			"an unbound key removes it":                 {scout, false, members(), false},
			"another program, by the name in capitals":  {zeta, false, loud, false},
			"the maker, by the name in capitals":        {alpha, false, loud, true},
			"an unbound key of the maker's, by no name": {unbound("key-of-alpha"), false, members("zeta"), false},
		} {
			reset(c.open)
			_, err := m.SetGroup(t.Context(), c.by, c.in)
			if c.want != (err == nil) || err != nil && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
			domaintest.Must(m.SetGroup(t.Context(), alpha, members()))(t)
		}
		reset(true)
		_, err := m.SetGroup(t.Context(), zeta, members("zeta"))
		domaintest.Refused(t, "the refusal", err, fault.Forbidden, `only "alpha", which made the group, or a human`,
			"a program may join or leave it", `this key speaks for "zeta"`)
	})
}

func TestTheFirstSpellingOfAGroupAndItsMembersStands(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		set := func(name string, members ...string) SetGroupOutput {
			return domaintest.Must(m.SetGroup(t.Context(), alpha, SetGroupInput{Name: name, Members: members}))(t)
		}
		set("Crew", "Beta", "BETA", "gamma")
		out := set("CREW", "beta", "GAMMA", "Delta")
		if got := strings.Join(out.Members, " "); out.Name != "Crew" || got != "Beta Delta gamma" {
			t.Errorf("%s has %s", out.Name, got)
		}
		page := domaintest.Must(m.ListGroups(t.Context(), beta, ListGroupsInput{}))(t)
		if len(page.Groups) != 1 || page.Groups[0].Name != "Crew" {
			t.Errorf("there are %+v", page.Groups)
		}
		if got := domaintest.Must(m.Send(t.Context(), alpha, to("group:crew")))(t); got.Recipients != 3 {
			t.Errorf("sent to %+v", got)
		}
		if got := m.get(domaintest.Bound("u", "beta"), GetInput{}); got == "" {
			t.Error("beta got nothing")
		}
	})
}

// The last member that leaves does not remove the group, whose name another could take otherwise.
func TestAttackAGroupThatItsLastMemberLeftIsStillItsMakers(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		m.group("crew", "beta")
		out := domaintest.Must(m.SetGroup(t.Context(), beta, SetGroupInput{Name: "crew", Members: []string{}}))(t)
		if out.Removed || out.Members == nil || len(out.Members) != 0 {
			t.Errorf("%+v", out)
		}
		_, err := m.SetGroup(t.Context(), beta, SetGroupInput{Name: "crew", Members: []string{"beta"}})
		domaintest.Refused(t, "taking it over", err, fault.Forbidden, `"alpha"`)
		m.group("crew", "gamma")
	})
}

func TestAGroupFromBeforeOwnersIsChangedByPeopleAndLeftByMembers(t *testing.T) {
	each(t, func(t *testing.T, m *mail) {
		put := func() {
			domaintest.Check(t, m.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
				groups.Put(tx, "Crew", Group{Members: []string{"beta", "gamma"}, UpdatedAt: t0})
				return nil
			}))
		}
		put()
		in := SetGroupInput{Name: "Crew", Members: []string{"alpha"}}
		for _, c := range []identity.Caller{alpha, scout, loose} {
			domaintest.Refused(t, c.Actor(), domaintest.Err(m.SetGroup(t.Context(), c, in)), fault.Forbidden, "only a human")
		}
		if got := domaintest.Must(m.Send(t.Context(), alpha, to("group:Crew")))(t); got.Recipients != 2 {
			t.Errorf("sent to %+v", got)
		}
		domaintest.Must(m.SetGroup(t.Context(), beta, SetGroupInput{Name: "Crew", Members: []string{"gamma"}}))(t)
		domaintest.Must(m.SetGroup(t.Context(), person, SetGroupInput{Name: "Crew", Members: []string{}}))(t)
		page := domaintest.Must(m.ListGroups(t.Context(), beta, ListGroupsInput{}))(t)
		if len(page.Groups) != 0 {
			t.Errorf("left are %+v", page.Groups)
		}
	})
}
