package campfire

import (
	"encoding/json"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// strangers are the callers that have no seat: another program, and an unbound key that took none.
var strangers = map[string]identity.Caller{
	"another program": informed(mallory),
	"another key":     informed(identity.Caller{User: "u", KeyID: "another-unbound-key", Kind: identity.Agent}),
}

// informed returns a caller as the catalogue passes it on, with the programs of the user.
func informed(c identity.Caller) identity.Caller {
	c.Reserved = []string{"alice", "bob", "judy", "mallory"}
	return c
}

// seats are the callers of a duel with the names that they give.
type seats struct {
	callers map[Role]identity.Caller
	names   map[Role]string
}

var duelists = map[string]seats{
	"of programs": {
		map[Role]identity.Caller{Challenger: alice, Defender: bob, Judge: judy},
		map[Role]string{Challenger: "alice", Defender: "bob", Judge: "judy"},
	},
	"of an unbound key": {
		map[Role]identity.Caller{Challenger: unbound, Defender: unbound, Judge: unbound},
		map[Role]string{Challenger: "ann", Defender: "ben", Judge: "joe"},
	},
	"of one program": {
		map[Role]identity.Caller{Challenger: alice, Defender: alice, Judge: alice},
		map[Role]string{Challenger: "alice/Gandalf", Defender: "alice/Saruman", Judge: "Frodo"},
	},
	"of people": {
		map[Role]identity.Caller{Challenger: human, Defender: human, Judge: human},
		map[Role]string{Challenger: "Ann", Defender: "Ben", Judge: "Joe"},
	},
}

// move is the action of a role, and abandons under the name of the fire.
func (k *fixture) move(r Role, c identity.Caller, name string) error {
	for _, s := range speaking {
		if s.op == map[Role]string{Challenger: "strike", Defender: "hold", Judge: "verdict"}[r] {
			return s.call(k, c, name)
		}
	}
	return domaintest.Err(k.Abandon(k.t.Context(), c, AbandonInput{FireID: here}))
}

const abandons Role = "abandons"

// before brings a fire to the turn of a role.
func (s seats) before(k *fixture, r Role) {
	k.t.Helper()
	k.light()
	k.check(k.throwAs(s.callers[Challenger], s.names[Challenger], s.names[Defender]))
	in := OathInput{FireID: here, Character: s.names[Judge]}
	k.check(domaintest.Err(k.TakeOath(k.t.Context(), s.callers[Judge], in)))
	for _, turn := range []Role{Challenger, Defender} {
		if turn == r || r == abandons {
			return
		}
		k.check(k.move(turn, s.callers[turn], s.names[turn]))
	}
}

func (k *fixture) text() string {
	k.t.Helper()
	text, err := json.Marshal(k.kept())
	k.check(err)
	return string(text)
}

func TestASeatBelongsToTheCallerThatTookIt(t *testing.T) {
	for name, s := range duelists {
		for _, r := range []Role{Challenger, Defender, Judge, abandons} {
			t.Run(name+", "+string(r), func(t *testing.T) {
				each(t, func(t *testing.T, k *fixture) {
					s.before(k, r)
					before := k.text()
					for who, c := range strangers {
						for _, n := range []string{s.names[r], "alice/Gandalf", "Frodo"} {
							if r == Defender && n == s.names[r] && (name == "of an unbound key" || name == "of people") {
								continue // the seat is free until the first call under the name that was challenged
							}
							if err := k.move(r, c, n); !fault.Is(err, fault.Forbidden) {
								t.Errorf("%s as %s: %v", who, n, err)
							}
						}
					}
					if after := k.text(); after != before {
						t.Errorf("%s, before %s", after, before)
					}
					by := s.callers[r]
					if r == abandons {
						by = s.callers[Judge]
					}
					k.check(k.move(r, by, s.names[r]))
				})
			})
		}
	}
}

func TestAPersonMovesForAnySeatAndTheRecordSaysSo(t *testing.T) {
	for name, s := range duelists {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *fixture) {
				s.before(k, Challenger)
				names := s.names
				if name == "of one program" {
					names = map[Role]string{Challenger: "alice/Gandalf", Defender: "alice/Saruman", Judge: "alice/Frodo"}
				}
				for _, r := range []Role{Challenger, Defender, Judge} {
					k.check(k.move(r, human, names[r]))
				}
				k.check(domaintest.Err(k.Post(t.Context(), human, PostInput{FireID: here, Text: "x", Author: "alice"})))
				e, v, said := k.ended()[0], k.get(), k.read(MessagesInput{}).Messages[0]
				if !e.Outcome.Human || e.Outcome.By != names[Judge] || e.Outcome.Verified || !v.Plan.Human ||
					v.Plan.Verified || !said.Human || said.Verified {
					t.Errorf("%+v, %+v, %+v", e.Outcome, v.Plan, said)
				}
				for _, a := range e.Transcript {
					if !a.Human || a.Verified || a.Name != names[a.Role] {
						t.Errorf("%+v", a)
					}
				}
				k.check(k.throw())
				k.check(k.move(abandons, human, ""))
				if o := k.ended()[0].Outcome; o.By != "human:fedcba987654" || !o.Human || o.Verified {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

func TestAProgramContinuesWhatAPersonBeganForIt(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		people := seats{
			map[Role]identity.Caller{Challenger: human, Defender: bob, Judge: human},
			map[Role]string{Challenger: "Alice", Defender: "bob", Judge: "judy/Frodo"},
		}
		people.before(k, Judge)
		k.check(k.move(Judge, judy, "Frodo"))
		people.before(k, Challenger)
		k.check(k.move(Challenger, alice, ""))
		k.check(k.move(abandons, alice, ""))
		e := k.ended()
		if o := e[1].Outcome; o.By != "judy/Frodo" || !o.Verified || o.Human {
			t.Errorf("%+v", o)
		}
		if a := e[0].Transcript[0]; a.Name != "Alice" || !a.Verified || a.Human {
			t.Errorf("%+v", a)
		}
		if o := e[0].Outcome; o.By != "alice" || !o.Verified {
			t.Errorf("%+v", o)
		}
	})
}

func TestARefusedMoveSaysWhoseTheSeatIs(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		duelists["of an unbound key"].before(k, Judge)
		domaintest.Says(t, "another key", k.move(Judge, strangers["another key"], "joe"), fault.Forbidden,
			"Only the Judge (joe) may use deliver_verdict: key:0123456789ab, which took the seat, or a human; "+
				"this is key:another-unbo, which is bound to no program")
		domaintest.Says(t, "another program", k.move(Judge, mallory, "joe"), fault.Forbidden,
			"Only the Judge (joe) may use deliver_verdict. You invoked as 'mallory/joe'.")
	})
}

// A challenge that names a character without its program is for the first caller that plays it, and one that names a
// program for that program alone.
func TestTheDefenderTakesItsSeatWithTheNameThatWasChallenged(t *testing.T) {
	for _, c := range []struct {
		name, target string
		by           identity.Caller
		as, seat     string // the seat is empty where the call is refused
	}{
		{"the program", "bob", informed(bob), "bob", "bob"},
		{"the program in another spelling", "BOB", informed(bob), "bob", "BOB"},
		{"the program without a name", "bob", informed(bob), "", "bob"},
		{"a character with its program", "bob/Saruman", informed(bob), "Saruman", "bob/Saruman"},
		{"a character without its program", "Saruman", informed(bob), "saruman", "bob/saruman"},
		{"a decomposed name", "José", informed(bob), "bob/Jose\u0301", "bob/José"},
		{"an unbound key", "Saruman", informed(unbound), "SARUMAN", "Saruman"},
		{"a person", "bob", human, "bob", "bob"},
		{"a character with the program's name", "bob", informed(mallory), "bob", ""},
		{"another program's character", "bob/Saruman", informed(mallory), "Saruman", ""},
		{"another character of the program", "bob", informed(bob), "Saruman", ""},
		{"the program of the character", "Saruman", informed(bob), "bob", ""},
		{"the Challenger", "Saruman", informed(alice), "alice", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, k *fixture) {
				k.light()
				k.check(k.throwAs(alice, "", c.target))
				k.check(k.oath())
				k.check(k.strike())
				if err := k.move(Defender, c.by, c.as); c.seat == "" {
					domaintest.Refused(t, c.name, err, fault.Forbidden, "Only the Defender ("+c.target+") may use")
					return
				} else if err != nil {
					t.Fatal(err)
				}
				if d := k.kept().Duel; d.DefenderName != c.seat || d.Transcript[1].Name != c.seat {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

func TestTheSeatsOfADuelAreDistinctByTheWholeName(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		for challenger, target := range map[string]string{
			"": "ALICE", "Gandalf": "alice/gandalf", "gandalf": "Gandalf", "José": "alice/Jose\u0301",
		} {
			err := k.throwAs(alice, challenger, target)
			domaintest.Says(t, target, err, fault.Invalid, "Challenger and Defender must be distinct identities.")
		}
		k.check(k.throwAs(alice, "Gandalf", "Saruman"))
		for c, refused := range map[*identity.Caller]map[string]string{
			&alice: {"GANDALF": "Challenger", "Saruman": "Defender"},
			&bob:   {"saruman": "Defender"},
		} {
			for as, role := range refused {
				in := OathInput{FireID: here, Character: as}
				domaintest.Refused(t, as, domaintest.Err(k.TakeOath(t.Context(), *c, in)), fault.Forbidden,
					"is already registered as "+role)
			}
		}
		in := OathInput{FireID: here, Character: "Gandalf"}
		k.check(domaintest.Err(k.TakeOath(t.Context(), bob, in)))
		if d := k.kept().Duel; d.JudgeName != "bob/Gandalf" || !d.JudgeVerified {
			t.Errorf("%+v", d)
		}
	})
}

// old brings a fire to the turn of a role in a duel that has no owners, as one from before they were kept.
func (k *fixture) old(r Role) {
	k.t.Helper()
	duelists["of programs"].before(k, r)
	f := k.kept()
	f.Owners = nil
	k.put("u", f)
}

func TestADuelWithoutOwnersBelongsToItsNames(t *testing.T) {
	for role, who := range map[Role]identity.Caller{Challenger: alice, Defender: bob, Judge: judy, abandons: judy} {
		t.Run(string(role), func(t *testing.T) {
			each(t, func(t *testing.T, k *fixture) {
				k.old(role)
				for name, c := range strangers {
					for _, as := range []string{who.Program, "Frodo"} {
						if err := k.move(role, c, as); !fault.Is(err, fault.Forbidden) {
							t.Errorf("%s: %v", name, err)
						}
					}
				}
				k.check(k.move(role, who, who.Program))
			})
		})
	}
}
