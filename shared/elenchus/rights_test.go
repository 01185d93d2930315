package elenchus

import (
	"encoding/json"
	"fmt"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// another is an unbound key that has begun nothing.
var another = identity.Caller{User: "u", KeyID: "another-unbound-key", Kind: identity.Agent}

// changes are the calls that change a verification, each at the end of the rounds that taken submits.
var changes = map[string]func(c *fixture, by identity.Caller, id string) error{
	"a round of the verifier": func(c *fixture, by identity.Caller, id string) error { return c.play(by, id, Verifier) },
	"a round of the critic":   func(c *fixture, by identity.Caller, id string) error { return c.play(by, id, Critic) },
	"files": func(c *fixture, by identity.Caller, id string) error {
		return domaintest.Err(c.AddFiles(c.t.Context(), by, AddInput{id, pairs([]string{"a.ts", "mine"})}))
	},
	"a checkpoint": func(c *fixture, by identity.Caller, id string) error {
		return domaintest.Err(c.Checkpoint(c.t.Context(), by, CheckpointInput{SessionID: id}))
	},
	"a rollback": func(c *fixture, by identity.Caller, id string) error {
		return domaintest.Err(c.Rollback(c.t.Context(), by, RollbackInput{id, 2}))
	},
	"the end": func(c *fixture, by identity.Caller, id string) error {
		return domaintest.Err(c.End(c.t.Context(), by, EndInput{id, "PASS"}))
	},
}

// play submits a round of a role.
func (c *fixture) play(by identity.Caller, id string, role Role) error {
	in := RoundInput{SessionID: id, Role: role, Output: "x", IssuesRaised: fresh(Critical, "COR-1")}
	return domaintest.Err(c.SubmitRound(c.t.Context(), by, in))
}

// taken starts a verification whose roles two callers take. It is the turn of the role.
func (c *fixture) taken(starter, verifier, critic identity.Caller, turn Role) string {
	c.t.Helper()
	in := StartInput{Target: "a.ts", Requirements: "r", WorkingDir: "/w", MaxRounds: 10,
		Files: pairs([]string{"a.ts", "x"})}
	id := domaintest.Must(c.Start(c.t.Context(), starter, in))(c.t).SessionID
	domaintest.Check(c.t, c.play(verifier, id, Verifier))
	domaintest.Check(c.t, c.play(critic, id, Critic))
	if turn == Critic {
		domaintest.Check(c.t, c.play(verifier, id, Verifier))
	}
	return id
}

// state returns a session and the texts of its files.
func (c *fixture) state(id string) string {
	c.t.Helper()
	text, err := json.Marshal(c.session(id))
	domaintest.Check(c.t, err)
	return fmt.Sprint(string(text), c.texts(id))
}

func TestAVerificationIsChangedByThoseItBelongsTo(t *testing.T) {
	all := map[string]identity.Caller{
		"alpha": alpha, "beta": beta, "gamma": gamma, "mallory": mallory, "key": unbound, "another": another, "human": human,
	}
	type who map[string]bool
	casts := map[string]struct {
		starter, verifier, critic identity.Caller
		may                       map[string]who
	}{
		"three programs": {alpha, beta, gamma, map[string]who{
			"a round of the verifier": {"alpha": true, "beta": true},
			"a round of the critic":   {"alpha": true, "gamma": true},
			"files":                   {"alpha": true, "beta": true, "gamma": true},
			"a checkpoint":            {"alpha": true, "beta": true, "gamma": true},
			"a rollback":              {"alpha": true},
			"the end":                 {"alpha": true},
		}},
		"an unbound key, and programs": {unbound, beta, gamma, map[string]who{
			"a round of the verifier": {"key": true, "beta": true},
			"a round of the critic":   {"key": true, "gamma": true},
			"files":                   {"key": true, "beta": true, "gamma": true},
			"a checkpoint":            {"key": true, "beta": true, "gamma": true},
			"a rollback":              {"key": true},
			"the end":                 {"key": true},
		}},
		"a program, and an unbound key": {alpha, unbound, unbound, map[string]who{
			"a round of the verifier": {"alpha": true, "key": true},
			"a round of the critic":   {"alpha": true, "key": true},
			"files":                   {"alpha": true, "key": true},
			"a checkpoint":            {"alpha": true, "key": true},
			"a rollback":              {"alpha": true},
			"the end":                 {"alpha": true},
		}},
		"a person": {human, human, human, map[string]who{
			"a round of the verifier": {}, "a round of the critic": {}, "files": {}, "a checkpoint": {}, "a rollback": {},
			"the end": {},
		}},
	}
	for name, cast := range casts {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, c *fixture) {
				for change, call := range changes {
					turn := Verifier
					if change == "a round of the critic" {
						turn = Critic
					}
					id := c.taken(cast.starter, cast.verifier, cast.critic, turn)
					before := c.state(id)
					for by, caller := range all {
						if by == "human" || cast.may[change][by] {
							continue
						}
						if err := call(c, caller, id); !fault.Is(err, fault.Forbidden) {
							t.Errorf("%s by %s: %v", change, by, err)
						}
					}
					if after := c.state(id); after != before {
						t.Errorf("%s: %s, before %s", change, after, before)
					}
					spent := false
					for by, caller := range all {
						if by != "human" && !cast.may[change][by] {
							continue
						}
						if spent {
							id = c.taken(cast.starter, cast.verifier, cast.critic, turn)
						}
						spent = change != "files" && change != "a checkpoint"
						if err := call(c, caller, id); err != nil {
							t.Errorf("%s by %s: %v", change, by, err)
						}
					}
				}
			})
		})
	}
}

func TestARoleIsFreeUntilItsFirstRound(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10, "a.ts", "x")
		domaintest.Check(t, changes["files"](c, mallory, id))
		domaintest.Check(t, c.play(beta, id, Verifier))
		domaintest.Check(t, changes["a checkpoint"](c, another, id))
		domaintest.Check(t, c.play(unbound, id, Critic))
		domaintest.Says(t, "the verifier's", c.play(mallory, id, Verifier), fault.Forbidden,
			`"beta" has taken the role of the verifier in verification `+id+
				`; only it or "alpha", which started it, or a human may submit in that role; `+
				`this key speaks for "mallory"`)
		domaintest.Says(t, "the verifier as the critic", c.play(beta, id, Critic), fault.Forbidden,
			`key:0123456789ab has taken the role of the critic in verification `+id+
				`; only it or "alpha", which started it, or a human may submit in that role; `+
				`this key speaks for "beta"`)
		domaintest.Says(t, "files", changes["files"](c, another, id), fault.Forbidden,
			`the roles of verification `+id+` are taken by "beta" and key:0123456789ab; only they or "alpha", which `+
				`started it, or a human may change it; this is key:another-unbo, which is bound to no program`)
		domaintest.Says(t, "the end", changes["the end"](c, beta, id), fault.Forbidden,
			`only "alpha", which started it, or a human may end verification `+id+` or roll it back; `+
				`this key speaks for "beta"`)
		// A rollback does not free the roles.
		domaintest.Check(t, changes["a rollback"](c, alpha, id))
		if err := c.play(mallory, id, Verifier); !fault.Is(err, fault.Forbidden) {
			t.Error(err)
		}
		domaintest.Check(t, c.play(identity.Caller{User: "u", KeyID: "new", Program: "BETA"}, id, Verifier))
	})
}

func TestTheRecordNamesWhoDidWhat(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.taken(unbound, human, gamma, Verifier)
		end, err := c.End(t.Context(), human, EndInput{id, "FAIL"})
		if err != nil || end.By != "key:0123456789ab" || end.Verified || end.EndedBy != "human:fedcba987654" {
			t.Errorf("%+v, %v", end, err)
		}
		for i, want := range []string{"human:fedcba987654", "gamma"} {
			if r := end.Rounds[i]; r.By != want || r.Verified != (want == "gamma") {
				t.Errorf("%+v", r)
			}
		}
	})
}

// A verification from before ownership was kept belongs to the verified program that started it, or else to people. Its
// roles are free until their next round.
func TestAVerificationWithoutAMakerBelongsToItsVerifiedProgram(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		for name, row := range map[string]struct {
			by       string
			verified bool
			may      map[string]bool
		}{
			"verified": {"alpha", true, map[string]bool{"alpha": true, "human": true}},
			"not":      {"alpha", false, map[string]bool{"human": true}},
			"nameless": {"", false, map[string]bool{"human": true}},
		} {
			for by, caller := range map[string]identity.Caller{
				"alpha": alpha, "mallory": mallory, "key": unbound, "human": human,
			} {
				id := c.taken(alpha, beta, gamma, Verifier)
				c.set(id, func(v *Session) {
					v.Maker, v.Takers, v.By, v.Verified = identity.Owner{}, nil, row.by, row.verified
				})
				domaintest.Check(t, c.play(gamma, id, Verifier))
				if err := c.play(mallory, id, Verifier); !fault.Is(err, fault.Forbidden) {
					t.Errorf("%s: %v", name, err)
				}
				if err := changes["the end"](c, caller, id); row.may[by] != (err == nil) ||
					err != nil && !fault.Is(err, fault.Forbidden) {
					t.Errorf("%s, by %s: %v", name, by, err)
				}
			}
		}
	})
}

func TestARefusedCallDoesNotFinishARollback(t *testing.T) {
	t.Parallel()
	db, d := domaintest.SQLiteOver(t, schema(), func(inner store.Driver) *faulty {
		return &faulty{Driver: inner, left: -1}
	})
	c := over(t, db)
	id := c.taken(alpha, beta, gamma, Verifier)
	c.set(id, func(v *Session) { v.MaxRounds = 100 })
	for n := range 3 * backSteps {
		c.turn(id, RoundInput{IssuesRaised: fresh(Low, fmt.Sprintf("BUG-%d", n))})
	}
	d.left = 1
	if _, err := c.Rollback(t.Context(), alpha, RollbackInput{id, 2}); err == nil {
		t.Fatal("the rollback was not interrupted")
	}
	d.left = -1
	for change, call := range changes {
		for _, by := range []identity.Caller{mallory, another} {
			if err := call(c, by, id); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", change, err)
			}
		}
	}
	if v := c.session(id); v.RollingBack == nil {
		t.Error("the rollback is finished")
	}
	domaintest.Check(t, changes["the end"](c, alpha, id))
}
