package team

import (
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
)

// ring connects the team to the service of keys and returns it.
func (w *world) ring() *keys.Service {
	ring := &keys.Service{DB: w.DB, Now: w.Clock.Now, Toolsets: func() []string { return []string{"team"} }}
	w.Keys = ring
	return ring
}

// issue makes a key and returns its caller.
func (w *world) issue(ring *keys.Service, in keys.CreateInput) identity.Caller {
	w.t.Helper()
	out := domaintest.Must(ring.Issue(w.t.Context(), "u", in))(w.t)
	c, err := w.lookup(ring, out.Key)
	domaintest.Check(w.t, err)
	return c
}

func (w *world) lookup(ring *keys.Service, secret string) (identity.Caller, error) {
	c, _, err := ring.Lookup(w.t.Context(), secret)
	return c, err
}

// startedBy spawns a member as the caller and claims its process. It returns the id of the process and the member's key.
func (w *world) startedBy(c identity.Caller, name string) (id, key string) {
	w.t.Helper()
	out, err := w.Spawn(w.t.Context(), c, SpawnInput{TeamName: "core", Name: name, Prompt: "p"})
	id = domaintest.Must(out, err)(w.t).ProcessID
	return id, domaintest.Must(w.claim("core", id, "r"))(w.t).Key
}

func TestAClaimGivesTheMemberAKeyThatEndsWithItsProcess(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ring := w.ring()
		lead := w.issue(ring, keys.CreateInput{Program: "alpha", Scopes: []string{"read", "write", "team"}})
		domaintest.Must(w.Create(t.Context(), lead, CreateInput{TeamName: "core"}))(t)
		alive := func(name, key string, want bool) identity.Caller {
			t.Helper()
			c, err := w.lookup(ring, key)
			if (err == nil) != want {
				t.Errorf("the key of %s: valid %v, want %v", name, err == nil, want)
			}
			return c
		}
		id, key := w.startedBy(lead, "exits")
		c := alive("exits", key, true)
		if c.Program != "core.exits" || c.Team != "core" || c.Member != "exits" || c.Kind != identity.Agent {
			t.Errorf("the member's key is %+v", c)
		}
		same(t, "scopes", c.Scopes, []string{"read", "team", "write"})
		domaintest.Must(w.Send(t.Context(), c, SendInput{TeamName: "core", Type: plain, Recipient: Lead, Content: "c",
			Summary: "s"}))(t)
		w.report(ReportInput{ProcessID: id, Runner: "r", State: Running})
		alive("exits, which runs", key, true)
		w.report(ReportInput{ProcessID: id, Runner: "r", State: Exited})
		w.report(ReportInput{ProcessID: id, Runner: "r", State: Exited})
		alive("exits, which has exited", key, false)

		id, key = w.startedBy(lead, "fails")
		w.report(ReportInput{ProcessID: id, Runner: "r", State: Failed})
		alive("fails", key, false)

		// A lost process may come back, so its key stays valid; and so does the record by which it can be revoked.
		id, key = w.startedBy(lead, "lost")
		w.report(ReportInput{ProcessID: id, Runner: "r", State: Lost})
		alive("lost", key, true)
		if p, err := processes.Get(t.Context(), w.DB.User("u"), id); err != nil || !p.PurgeAt.IsZero() {
			t.Errorf("the record of a valid key is purged: %+v, %v", p, err)
		}
		domaintest.Must(w.ShutdownApproved(t.Context(), human, MemberInput{"core", "lost"}))(t)
		alive("lost, which was removed", key, false)

		// A runner that repeats its claim of a removed member gets the process, to end it, and no key.
		id, key = w.startedBy(lead, "killed")
		domaintest.Must(w.Kill(t.Context(), lead, MemberInput{"core", "killed"}))(t)
		alive("killed", key, false)
		if out, err := w.claim("core", id, "r"); err != nil || out.Key != "" || out.Process.Wanted != WantEnded {
			t.Errorf("the claim of a removed member gives %+v, %v", out, err)
		}

		// A repeated claim replaces the key, because the first answer may be lost.
		id, key = w.startedBy(lead, "again")
		out, err := w.claim("core", id, "r")
		if err != nil || !out.AlreadyClaimed {
			t.Errorf("a repeated claim: %+v, %v", out, err)
		}
		alive("again, the first", key, false)
		alive("again, the second", out.Key, true)
	})
}

func TestAMembersKeyEndsWithTheKeyThatSpawnedIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ring := w.ring()
		founder := w.issue(ring, keys.CreateInput{Program: "alpha"})
		successor := w.issue(ring, keys.CreateInput{Program: "alpha"})
		person := w.issue(ring, keys.CreateInput{Kind: identity.Human})
		domaintest.Must(w.Create(t.Context(), founder, CreateInput{TeamName: "core"}))(t)
		_, first := w.startedBy(founder, "first")
		_, second := w.startedBy(successor, "second")
		_, third := w.startedBy(person, "third") // a human spawns for the founder
		waiting := domaintest.Must(w.Spawn(t.Context(), person, SpawnInput{TeamName: "core", Name: "late", Prompt: "p"}))(t)
		domaintest.Must(ring.Revoke(t.Context(), human, keys.RevokeInput{KeyID: founder.KeyID}))(t)
		for name, tc := range map[string]struct {
			key   string
			valid bool
		}{"first": {first, false}, "second": {second, true}, "third": {third, false}} {
			if _, err := w.lookup(ring, tc.key); (err == nil) != tc.valid {
				t.Errorf("the key of %s: %v", name, err)
			}
		}
		out, err := w.claim("core", waiting.ProcessID, "r")
		domaintest.Refused(t, "a claim", err, fault.Precondition, "the key of the founder", "revoked")
		if got := w.processes(ProcessesInput{})[0]; out.Key != "" || got.State != Requested {
			t.Errorf("a refused claim gives %+v and leaves %+v", out, got)
		}
	})
}

// Teams and processes from before keys of members were made know no founder's key.
func TestAMemberOfAnOlderTeamGetsAKeyBelowThatOfTheSpawner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ring := w.ring()
		domaintest.Check(t, w.Import(t.Context(), identity.Caller{User: "u", Kind: identity.Human}, archive()))
		person := w.issue(ring, keys.CreateInput{Kind: identity.Human})
		_, key := w.startedBy(person, "bob")
		if c, err := w.lookup(ring, key); err != nil || c.Program != "core.bob" {
			t.Errorf("%+v, %v", c, err)
		}
		domaintest.Must(ring.Revoke(t.Context(), human, keys.RevokeInput{KeyID: person.KeyID}))(t)
		if _, err := w.lookup(ring, key); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("after the revocation: %v", err)
		}
	})
}
