package campfire

import (
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// speaking lists the operations that take the name of the caller, with the stage in which each succeeds.
var speaking = []struct {
	op    string
	stage int
	own   string // the name that may act in the stage
	call  func(k *fixture, c identity.Caller, name string) error
}{
	{"post", 0, "alice", func(k *fixture, c identity.Caller, name string) error {
		return domaintest.Err(k.Post(k.t.Context(), c, PostInput{FireID: here, Text: "x", Author: name}))
	}},
	{"speak", 0, "alice", func(k *fixture, c identity.Caller, name string) error {
		return domaintest.Err(k.Speak(k.t.Context(), c, PostInput{FireID: here, Text: "x", Author: name}))
	}},
	{"plan", 0, "alice", func(k *fixture, c identity.Caller, name string) error {
		return domaintest.Err(k.UpdatePlan(k.t.Context(), c, PlanInput{FireID: here, Content: "x", Author: name}))
	}},
	{"gauntlet", 0, "alice", func(k *fixture, c identity.Caller, name string) error {
		return k.throwAs(c, name, "bob")
	}},
	{"oath", 1, "judy", func(k *fixture, c identity.Caller, name string) error {
		return domaintest.Err(k.TakeOath(k.t.Context(), c, OathInput{FireID: here, Character: name}))
	}},
	{"strike", 2, "alice", func(k *fixture, c identity.Caller, name string) error {
		return domaintest.Err(k.Strike(k.t.Context(), c, StrikeInput{FireID: here, Character: name, Evidence: "x"}))
	}},
	{"hold", 3, "bob", func(k *fixture, c identity.Caller, name string) error {
		return domaintest.Err(k.Hold(k.t.Context(), c, HoldInput{FireID: here, Character: name, Rationale: "x"}))
	}},
	{"verdict", 4, "judy", func(k *fixture, c identity.Caller, name string) error {
		in := VerdictInput{FireID: here, Character: name, Winner: Defender, Ruling: "x", Mutation: "x"}
		return domaintest.Err(k.Rule(k.t.Context(), c, in))
	}},
}

// The refusal comes before any read, and reveals nothing about the fire.
func TestNobodySpeaksForAnotherProgram(t *testing.T) {
	free := informed(unbound)
	for _, s := range speaking {
		t.Run(s.op, func(t *testing.T) {
			each(t, func(t *testing.T, k *fixture) {
				taken := `has a key of its own; this key is bound to no program and may not act under that name`
				for range 2 { // before there is a fire, and at the fire
					for name, words := range map[string]string{
						s.own:                         `"` + s.own + `" ` + taken,
						strings.ToUpper(s.own):        `"` + s.own + `" ` + taken,
						s.own + "/Gandalf":            `"` + s.own + `" ` + taken,
						" " + s.own + "/Gandalf / / ": `"` + s.own + `" ` + taken,
					} {
						domaintest.Says(t, "unbound as "+name, s.call(k, free, name), fault.Forbidden, words)
					}
					domaintest.Says(t, "another's character", s.call(k, mallory, s.own+"/Gandalf"), fault.Forbidden,
						`this key speaks for "mallory" and may not speak as "`+s.own+`/Gandalf"`)
					k.light()
				}
				if f := k.kept(); f.Messages != 0 || f.Plan != 0 || f.Duels != 0 {
					t.Errorf("%+v", f)
				}
			})
		})
	}
}

func TestABareNameIsACharacterOfTheProgram(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		longest := strings.Repeat("甲", 60)
		for name, want := range map[string]string{
			"Gandalf":            "alice/Gandalf",
			" alice/Gandalf ":    "alice/Gandalf",
			"ALICE/Gandalf":      "alice/Gandalf",
			"bob":                "alice/bob", // which nobody takes for bob
			"Alice":              "alice",
			"alice/":             "alice",
			"":                   "alice",
			"Jose\u0301":         "alice/José",
			longest:              "alice/" + longest,
			"alice/" + longest:   "alice/" + longest,
			"O'Brien 3rd ⚔":      "alice/O'Brien 3rd ⚔",
			"alice/in/the/tower": "alice/in/the/tower",
		} {
			out, err := k.Post(t.Context(), alice, PostInput{FireID: here, Text: "x", Author: name})
			if err != nil || out.Author != want || !out.Verified {
				t.Errorf("%q: %+v, %v", name, out, err)
			}
		}
		for _, long := range []string{longest + "甲", "alice/" + longest + "甲"} {
			_, err := k.Post(t.Context(), alice, PostInput{FireID: here, Text: "x", Author: long})
			if domaintest.Fields(err) != "author" {
				t.Errorf("%q: %v", long, err)
			}
		}
	})
}

func TestTheRecordTellsWhetherANameIsVerified(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		for _, verified := range []bool{true, false} {
			for _, s := range speaking {
				c := unbound
				if verified {
					c = domaintest.Bound("u", s.own)
				}
				k.check(s.call(k, c, s.own))
				if d := k.kept().Duel; s.op == "gauntlet" && (d.ChallengerVerified != verified || d.JudgeVerified) {
					t.Errorf("%+v", d)
				}
			}
		}
		posts, err := k.Messages(t.Context(), unbound, MessagesInput{FireID: here})
		k.check(err)
		for i, m := range posts.Messages {
			if m.Author != "alice" || m.Verified != (i < 2) {
				t.Errorf("message %d: %+v", i, m)
			}
		}
		for i, e := range k.ended() { // The newest duel is first.
			want := i == 1
			if e.ChallengerVerified != want || e.JudgeVerified != want || e.Outcome.Verified != want ||
				len(e.Transcript) != 3 {
				t.Errorf("%+v", e)
			}
			for _, a := range e.Transcript {
				if a.Verified != want {
					t.Errorf("%+v", a)
				}
			}
		}
		for version, want := range []bool{true, true, false, false} {
			v, err := k.Get(t.Context(), unbound, GetInput{FireID: here, PlanVersion: int64(version + 1)})
			if err != nil || v.Plan.Verified != want {
				t.Errorf("%+v, %v", v.Plan, err)
			}
		}
	})
}

func TestWithoutANameTheSpeakerIsTheProgramOfTheKey(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		for _, c := range []identity.Caller{alice, unbound} {
			out, err := k.Post(t.Context(), c, PostInput{FireID: here, Text: "x", Author: "  "})
			if err != nil || out.Author != c.Program || out.Verified != c.Bound() {
				t.Errorf("%+v, %v", out, err)
			}
		}
	})
}

func TestANameIsOnePrintableLine(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		for _, bad := range []string{"a\nb", "a\x00", "bob\u200b", "a\u2028b", "a\u00a0b"} {
			for _, s := range speaking {
				err := s.call(k, unbound, bad)
				if got := domaintest.Fields(err); got != "author" && got != "challenger_name" &&
					got != "character_name" {
					t.Errorf("%s as %q: %v", s.op, bad, err)
				}
			}
			if err := k.throwAs(unbound, "bob", bad); domaintest.Fields(err) != "target_name" {
				t.Errorf("against %q: %v", bad, err)
			}
		}
		k.check(k.throwAs(unbound, "Жанна д’Арк", "O'Brien 3rd ⚔"))
	})
}
