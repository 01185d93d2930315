package campfire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

func TestADuelFromTheGauntletToThePlan(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		ctx := t.Context()
		thrown, err := k.Throw(ctx, alice, GauntletInput{
			FireID:          here,
			Challenger:      " alice ",
			Target:          " Bob the Bold ",
			Thesis:          " It does not scale.\n",
			DeadlineMinutes: 60,
		})
		want := Duel{
			FireID:             here,
			Number:             1,
			ChallengerName:     "alice",
			ChallengerVerified: true,
			DefenderName:       "Bob the Bold",
			ThesisOfAttack:     "It does not scale.",
			CurrentTurn:        Challenger,
			CreatedAt:          t0,
			DeadlineMinutes:    60,
			TurnDeadline:       t0.Add(time.Hour),
			Transcript:         []Argument{},
		}
		if err != nil ||
			!reflect.DeepEqual(thrown, GauntletOutput{want, "Duel declared. Waiting for the Judge to take the oath."}) {
			t.Errorf("%+v, %v", thrown, err)
		}
		if v := k.get(); v.State != Pending || !reflect.DeepEqual(*v.Duel, want) || v.Plan != (Plan{}) {
			t.Errorf("%+v", v)
		}
		k.Pass(time.Minute)
		sworn, err := k.TakeOath(ctx, unbound, OathInput{FireID: here, Character: "Judy"})
		want.JudgeName, want.TurnDeadline = "Judy", t0.Add(61*time.Minute)
		if err != nil || !reflect.DeepEqual(sworn, OathOutput{"The tribunal is complete. Let the duel begin.", want}) {
			t.Errorf("%+v, %v", sworn, err)
		}
		k.Pass(time.Minute)
		struck, err := k.Strike(ctx, alice,
			StrikeInput{FireID: here, Character: "alice", Evidence: " It is quadratic. "})
		want.CurrentTurn, want.TurnDeadline = Defender, t0.Add(62*time.Minute)
		want.Transcript = append(want.Transcript, Argument{
			Role:     Challenger,
			Name:     "alice",
			Verified: true,
			Text:     "It is quadratic.",
			At:       t0.Add(2 * time.Minute),
		})
		if err != nil || !reflect.DeepEqual(struck, want) {
			t.Errorf("%+v, %v", struck, err)
		}
		k.Pass(time.Minute)
		held, err := k.Hold(ctx, unbound,
			HoldInput{FireID: here, Character: "Bob the Bold", Rationale: "It is small.", Surrender: true})
		want.CurrentTurn, want.TurnDeadline = Judge, t0.Add(63*time.Minute)
		want.Transcript = append(want.Transcript, Argument{
			Role:      Defender,
			Name:      "Bob the Bold",
			Text:      "It is small.",
			Surrender: true,
			At:        t0.Add(3 * time.Minute),
		})
		if err != nil || !reflect.DeepEqual(held, want) {
			t.Errorf("%+v, %v", held, err)
		}
		k.Pass(time.Minute)
		verdict, err := k.Rule(ctx, unbound, VerdictInput{
			FireID:    here,
			Character: "Judy",
			Winner:    Challenger,
			Ruling:    "It grows.",
			Mutation:  " Make it linear. ",
		})
		const delivered = `{"message":"Verdict delivered. State reverted to DEBATING.",` +
			`"winner":"challenger","planMutated":true}`
		if text, _ := json.Marshal(verdict); err != nil || string(text) != delivered {
			t.Errorf("%s, %v", text, err)
		}
		now := t0.Add(4 * time.Minute)
		want.Transcript = append(want.Transcript, Argument{Role: Judge, Name: "Judy", Text: "It grows.", At: now})
		over := Ended{
			want,
			Outcome{
				Result:      Judged,
				Winner:      Challenger,
				PlanVersion: 1,
				Mutation:    "Make it linear.",
				By:          "Judy",
				EndedAt:     now,
			},
		}
		if got := k.ended(); len(got) != 1 || !reflect.DeepEqual(got[0], over) {
			t.Errorf("%+v\nwant %+v", got, over)
		}
		plan := Plan{Version: 1, Content: "Make it linear.", Author: "Judy", Cause: Verdict, Duel: 1, CreatedAt: now}
		if v := k.get(); !reflect.DeepEqual(v, View{ID: here, CreatedAt: t0, State: Debating, Plan: plan, Duels: 1}) {
			t.Errorf("%+v", v)
		}
	})
}

func TestAnAbandonedDuelLeavesThePlan(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		k.check(k.plan("as it is"))
		const reason = "abandon_duel was called"
		abandoned := Outcome{Result: Abandoned, Reason: reason, By: "bob", Verified: true, EndedAt: t0}
		for n := 1; n <= 4; n++ {
			for _, step := range []func() error{k.throw, k.oath, k.strike, k.hold}[:n] {
				k.check(step())
			}
			out, err := k.Abandon(t.Context(), bob, AbandonInput{FireID: here})
			if err != nil || out.Message != "Duel abandoned. State reverted to DEBATING. No BattlePlan mutation." {
				t.Errorf("%+v, %v", out, err)
			}
			if v := k.get(); v.State != Debating || v.Duel != nil || v.Plan.Content != "as it is" ||
				v.Plan.Version != 1 {
				t.Errorf("%+v", v)
			}
			e := k.ended()
			if len(e) != n || e[0].Number != int64(n) || len(e[0].Transcript) != max(0, n-2) ||
				e[0].Outcome != abandoned {
				t.Errorf("%+v", e)
			}
		}
	})
}

func TestMessagesAndPlansAreRefusedDuringADuel(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		for n, step := range []func() error{k.throw, k.oath, k.strike, k.hold} {
			k.check(step())
			words := "Silence. A duel is being fought. Waiting for the verdict."
			if n == 0 {
				words = "Silence. A duel has been declared. Waiting for an impartial Judge to take the oath."
			}
			domaintest.Says(t, "post", k.post("hello"), fault.Precondition, words)
			err := domaintest.Err(k.Speak(t.Context(), unbound, PostInput{FireID: here, Text: "x"}))
			domaintest.Says(t, "speak", err, fault.Precondition, words)
			domaintest.Says(t, "plan", k.plan("x"), fault.Precondition, words)
		}
		k.check(k.rule())
		k.check(k.post("hello"))
		k.check(domaintest.Err(k.Speak(t.Context(), unbound, PostInput{FireID: here, Text: "x"})))
		k.check(k.plan("x"))
		if f := k.kept(); f.Messages != 2 || f.Plan != 2 {
			t.Errorf("%+v", f)
		}
	})
}

func TestThePlanKeepsItsHistory(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.light()
		out, err := k.UpdatePlan(t.Context(), unbound, PlanInput{FireID: here, Content: " first ", Author: "zoe"})
		if err != nil || out != (PlanOutput{"BattlePlan updated successfully.", 1}) {
			t.Errorf("%+v, %v", out, err)
		}
		k.Pass(time.Minute)
		k.check(k.plan("second"))
		k.stage(4)
		k.check(k.rule())
		later := t0.Add(time.Minute)
		for version, want := range []Plan{
			{Version: 3, Content: "Make it linear.", Author: "judy", Verified: true, Cause: Verdict, Duel: 1,
				CreatedAt: later},
			{Version: 1, Content: "first", Author: "zoe", Cause: Update, CreatedAt: t0},
			{Version: 2, Content: "second", Author: "alice", Verified: true, Cause: Update, CreatedAt: later},
			{Version: 3, Content: "Make it linear.", Author: "judy", Verified: true, Cause: Verdict, Duel: 1,
				CreatedAt: later},
		} {
			v, err := k.Get(t.Context(), unbound, GetInput{FireID: here, PlanVersion: int64(version)})
			if err != nil || v.Plan != want {
				t.Errorf("%d: %+v, %v", version, v.Plan, err)
			}
		}
		_, err = k.Get(t.Context(), unbound, GetInput{FireID: here, PlanVersion: 4})
		if domaintest.Fields(err) != "planVersion" {
			t.Error(err)
		}
	})
}

func TestAFireIsCreatedOnce(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		for _, in := range []FireInput{
			{FireID: here}, {FireID: here}, {FireID: here, Idempotency: op.Idempotency{IdempotencyKey: "k"}},
		} {
			out, err := k.GetOrCreate(t.Context(), unbound, in)
			if err != nil || out != (FireOutput{here, t0}) {
				t.Errorf("%+v, %v", out, err)
			}
			k.check(k.post("x"))
			k.Pass(time.Hour)
		}
		if f := k.kept(); f.Messages != 3 {
			t.Errorf("%+v", f)
		}
	})
}

func TestAnUnknownFireIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		k.stage(1)
		const fire = "nowhere"
		strike := StrikeInput{FireID: fire, Character: "x", Evidence: "x"}
		hold := HoldInput{FireID: fire, Character: "x", Rationale: "x"}
		verdict := VerdictInput{FireID: fire, Character: "x", Winner: Defender, Ruling: "x", Mutation: "x"}
		for name, err := range map[string]error{
			"post":     domaintest.Err(k.Post(t.Context(), unbound, PostInput{FireID: fire, Text: "x"})),
			"speak":    domaintest.Err(k.Speak(t.Context(), unbound, PostInput{FireID: fire, Text: "x"})),
			"messages": domaintest.Err(k.Messages(t.Context(), unbound, MessagesInput{FireID: fire, WaitMs: 55_000})),
			"oath":     domaintest.Err(k.TakeOath(t.Context(), unbound, OathInput{FireID: fire, Character: "x"})),
			"strike":   domaintest.Err(k.Strike(t.Context(), unbound, strike)),
			"hold":     domaintest.Err(k.Hold(t.Context(), unbound, hold)),
			"verdict":  domaintest.Err(k.Rule(t.Context(), unbound, verdict)),
			"abandon":  domaintest.Err(k.Abandon(t.Context(), unbound, AbandonInput{FireID: fire})),
			"plan":     domaintest.Err(k.UpdatePlan(t.Context(), unbound, PlanInput{FireID: fire, Content: "x"})),
			"get":      domaintest.Err(k.Get(t.Context(), unbound, GetInput{FireID: fire})),
			"duels":    domaintest.Err(k.Duels(t.Context(), unbound, DuelsInput{FireID: fire})),
		} {
			domaintest.Says(t, name, err, fault.NotFound, "Fire with id 'nowhere' does not exist.")
		}
		// The fire of another user is not found either, and that user may have one with the same id.
		domaintest.Says(t, "a stranger", domaintest.Err(k.Get(t.Context(), stranger, GetInput{FireID: here})),
			fault.NotFound, "Fire with id 'f' does not exist.")
		k.check(domaintest.Err(k.GetOrCreate(t.Context(), stranger, FireInput{FireID: here})))
		if v, err := k.Get(t.Context(), stranger, GetInput{FireID: here}); err != nil || v.State != Debating ||
			v.Duels != 0 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestACallRepeatedWithItsKeyTakesEffectOnce(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		ctx, key := t.Context(), op.Idempotency{IdempotencyKey: "k"}
		k.light()
		twice := func(name string, call func() (any, error)) {
			t.Helper()
			first, err := call()
			k.check(err)
			k.Pass(time.Second)
			if again, err := call(); err != nil || !reflect.DeepEqual(first, again) {
				t.Errorf("%s: %+v, first %+v, %v", name, again, first, err)
			}
		}
		twice("post", func() (any, error) {
			return k.Post(ctx, unbound, PostInput{Idempotency: key, FireID: here, Text: "x"})
		})
		twice("speak", func() (any, error) {
			return k.Speak(ctx, unbound, PostInput{Idempotency: key, FireID: here, Text: "x"})
		})
		twice("plan", func() (any, error) {
			return k.UpdatePlan(ctx, unbound, PlanInput{Idempotency: key, FireID: here, Content: "x"})
		})
		twice("gauntlet", func() (any, error) {
			return k.Throw(ctx, alice,
				GauntletInput{Idempotency: key, FireID: here, Challenger: "alice", Target: "bob", Thesis: "x"})
		})
		if f := k.kept(); f.Messages != 2 || f.Plan != 1 || f.Duels != 1 {
			t.Errorf("%+v", f)
		}
		_, err := k.Post(ctx, unbound, PostInput{Idempotency: key, FireID: here, Text: "y"})
		domaintest.Says(t, "another text", err, fault.Precondition,
			`idempotencyKey "k" was used for another campfire_post_message; take a new key for a new call`)
	})
}

func TestEmptyTextIsRefused(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		ctx := t.Context()
		k.stage(2)
		for _, blank := range []string{"", " \t\n  "} {
			for _, c := range []struct {
				field, words string
				err          error
			}{
				{"message", "message cannot be empty.", domaintest.Err(k.Echo(ctx, unbound, EchoInput{blank}))},
				{"text", "message cannot be empty.",
					domaintest.Err(k.Post(ctx, alice, PostInput{FireID: here, Text: blank}))},
				{"text", "message cannot be empty.",
					domaintest.Err(k.Speak(ctx, alice, PostInput{FireID: "nowhere", Text: blank}))},
				{"content", "content cannot be empty.",
					domaintest.Err(k.UpdatePlan(ctx, alice, PlanInput{FireID: here, Content: blank}))},
				{"challenger_name", "challenger_name cannot be empty.",
					domaintest.Err(k.Throw(ctx, unbound,
						GauntletInput{FireID: here, Challenger: blank, Target: "b", Thesis: "x"}))},
				{"target_name", "target_name cannot be empty.",
					domaintest.Err(k.Throw(ctx, unbound,
						GauntletInput{FireID: here, Challenger: "a", Target: blank, Thesis: "x"}))},
				{"thesis_of_attack", "thesis_of_attack cannot be empty.",
					domaintest.Err(k.Throw(ctx, unbound,
						GauntletInput{FireID: here, Challenger: "a", Target: "b", Thesis: blank}))},
				{"character_name", "character_name cannot be empty.",
					domaintest.Err(k.TakeOath(ctx, unbound, OathInput{FireID: here, Character: blank}))},
				{"character_name", "character_name cannot be empty.",
					domaintest.Err(k.Strike(ctx, unbound, StrikeInput{FireID: here, Character: blank, Evidence: "x"}))},
				{"technical_evidence", "technical_evidence cannot be empty.",
					domaintest.Err(k.Strike(ctx, alice,
						StrikeInput{FireID: here, Character: "alice", Evidence: blank}))},
				{"character_name", "character_name cannot be empty.",
					domaintest.Err(k.Hold(ctx, unbound, HoldInput{FireID: here, Character: blank, Rationale: "x"}))},
				{"defense_rationale", "defense_rationale cannot be empty.",
					domaintest.Err(k.Hold(ctx, bob,
						HoldInput{FireID: here, Character: "bob", Rationale: blank, Surrender: true}))},
				{"character_name", "character_name cannot be empty.",
					domaintest.Err(k.Rule(ctx, unbound,
						VerdictInput{FireID: here, Character: blank, Ruling: "x", Mutation: "x"}))},
				{"ruling_rationale", "ruling_rationale cannot be empty.",
					domaintest.Err(k.Rule(ctx, judy,
						VerdictInput{FireID: here, Character: "judy", Ruling: blank, Mutation: "x"}))},
				{"required_plan_mutation", "required_plan_mutation cannot be empty.",
					domaintest.Err(k.Rule(ctx, judy,
						VerdictInput{FireID: here, Character: "judy", Ruling: "x", Mutation: blank}))},
			} {
				domaintest.Says(t, c.field, c.err, fault.Invalid, c.words)
				if got := domaintest.Fields(c.err); got != c.field {
					t.Errorf("%s: its field is %s", c.words, got)
				}
			}
		}
		if v := k.get(); v.Messages != 0 || v.Plan.Version != 0 || len(v.Duel.Transcript) != 0 {
			t.Errorf("%+v", v)
		}
	})
}

func TestPingAndEchoAnswer(t *testing.T) {
	t.Parallel()
	k := over(t, nil)
	k.Pass(1500 * time.Millisecond)
	if out, err := k.Ping(t.Context(), unbound, NoInput{}); err != nil ||
		out.Message != "pong @ 2026-03-01T12:00:01.500Z (parley)" {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := k.Echo(t.Context(), unbound, EchoInput{" as it is\n"}); err != nil || out.Message != " as it is\n" {
		t.Errorf("%+v, %v", out, err)
	}
}

// The longest texts that are allowed fit into the documents of the store.
func TestTheLargestDuelIsKeptWhole(t *testing.T) {
	each(t, func(t *testing.T, k *fixture) {
		ctx := t.Context()
		text, plan := strings.Repeat("𝄞", 8_000), strings.Repeat("𝄞", 32_000)
		name := func(r string) string { return strings.Repeat(r, 60) }
		thrown := GauntletInput{FireID: here, Challenger: name("甲"), Target: name("乙"), Thesis: text}
		k.check(domaintest.Err(k.Throw(ctx, unbound, thrown)))
		k.check(domaintest.Err(k.TakeOath(ctx, unbound, OathInput{FireID: here, Character: name("丙")})))
		struck := StrikeInput{FireID: here, Character: name("甲"), Evidence: text}
		k.check(domaintest.Err(k.Strike(ctx, unbound, struck)))
		k.check(domaintest.Err(k.Hold(ctx, unbound, HoldInput{FireID: here, Character: name("乙"), Rationale: text})))
		verdict := VerdictInput{FireID: here, Character: name("丙"), Winner: Defender, Ruling: text, Mutation: plan}
		k.check(domaintest.Err(k.Rule(ctx, unbound, verdict)))
		e := k.ended()
		if len(e) != 1 || e[0].ThesisOfAttack != text || e[0].Outcome.Mutation != plan || len(e[0].Transcript) != 3 ||
			e[0].Transcript[2].Text != text {
			t.Error("the duel is not as it was fought")
		}
		if v := k.get(); v.Plan.Content != plan {
			t.Error("the plan is not as it was ruled")
		}
	})
}
