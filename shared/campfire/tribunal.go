package campfire

import (
	"context"
	"math"
	"strconv"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Throw declares a duel, and creates the fire if it is missing. It fails as [Fire.Throw] does.
func (s *Service) Throw(ctx context.Context, c identity.Caller, in GauntletInput) (GauntletOutput, error) {
	var out GauntletOutput
	by, err := requiredVoice(c, "challenger_name", in.Challenger)
	if err != nil {
		return out, err
	}
	target, err := trimName("target_name", in.Target)
	if err != nil {
		return out, err
	}
	thesis, err := trim("thesis_of_attack", "thesis_of_attack", in.Thesis)
	if err != nil {
		return out, err
	}
	now := s.Now()
	ch := change{Idempotency: in.Idempotency, fire: in.FireID, now: now, create: true}
	return apply(ctx, s, c, ch, func(_ *store.Tx, f *Fire) (GauntletOutput, error) {
		if err := f.Throw(by, target, thesis, in.DeadlineMinutes, now); err != nil {
			return GauntletOutput{}, err
		}
		return GauntletOutput{*f.Duel, "Duel declared. Waiting for the Judge to take the oath."}, nil
	})
}

// TakeOath makes the caller's character the Judge of the standing duel. Of concurrent calls one succeeds. It fails as
// [Fire.TakeOath] does.
func (s *Service) TakeOath(ctx context.Context, c identity.Caller, in OathInput) (OathOutput, error) {
	by, err := requiredVoice(c, "character_name", in.Character)
	if err != nil {
		return OathOutput{}, err
	}
	now := s.Now()
	return apply(ctx, s, c, change{fire: in.FireID, now: now}, func(_ *store.Tx, f *Fire) (OathOutput, error) {
		if err := f.TakeOath(by, now); err != nil {
			return OathOutput{}, err
		}
		return OathOutput{"The tribunal is complete. Let the duel begin.", *f.Duel}, nil
	})
}

// Strike adds the evidence of the Challenger. It fails as [Fire.Strike] does.
func (s *Service) Strike(ctx context.Context, c identity.Caller, in StrikeInput) (Duel, error) {
	by, err := requiredVoice(c, "character_name", in.Character)
	if err != nil {
		return Duel{}, err
	}
	evidence, err := trim("technical_evidence", "technical_evidence", in.Evidence)
	if err != nil {
		return Duel{}, err
	}
	now := s.Now()
	return apply(ctx, s, c, change{fire: in.FireID, now: now}, func(_ *store.Tx, f *Fire) (Duel, error) {
		if err := f.Strike(by, evidence, now); err != nil {
			return Duel{}, err
		}
		return *f.Duel, nil
	})
}

// Hold adds the defense of the Defender, or its surrender. It fails as [Fire.Hold] does.
func (s *Service) Hold(ctx context.Context, c identity.Caller, in HoldInput) (Duel, error) {
	by, err := requiredVoice(c, "character_name", in.Character)
	if err != nil {
		return Duel{}, err
	}
	rationale, err := trim("defense_rationale", "defense_rationale", in.Rationale)
	if err != nil {
		return Duel{}, err
	}
	now := s.Now()
	return apply(ctx, s, c, change{fire: in.FireID, now: now}, func(_ *store.Tx, f *Fire) (Duel, error) {
		if err := f.Hold(by, rationale, in.Surrender, now); err != nil {
			return Duel{}, err
		}
		return *f.Duel, nil
	})
}

// Rule delivers the verdict. It ends the duel and replaces the battle plan in one transaction. It fails as
// [Fire.Rule] does.
func (s *Service) Rule(ctx context.Context, c identity.Caller, in VerdictInput) (VerdictOutput, error) {
	var out VerdictOutput
	by, err := requiredVoice(c, "character_name", in.Character)
	if err != nil {
		return out, err
	}
	ruling, err := trim("ruling_rationale", "ruling_rationale", in.Ruling)
	if err != nil {
		return out, err
	}
	mutation, err := trim("required_plan_mutation", "required_plan_mutation", in.Mutation)
	if err != nil {
		return out, err
	}
	now := s.Now()
	return apply(ctx, s, c, change{fire: in.FireID, now: now}, func(tx *store.Tx, f *Fire) (VerdictOutput, error) {
		e, plan, err := f.Rule(by, in.Winner, ruling, mutation, now)
		if err != nil {
			return VerdictOutput{}, err
		}
		record(tx, e)
		plans.Under(f.ID).Create(tx, docID(plan.Version), plan)
		return VerdictOutput{"Verdict delivered. State reverted to DEBATING.", in.Winner, true}, nil
	})
}

// Abandon ends the standing duel without a verdict, for those with a seat in it and for people. It fails as
// [Fire.Abandon] does.
func (s *Service) Abandon(ctx context.Context, c identity.Caller, in AbandonInput) (Said, error) {
	by, now := Voice{Name: c.Actor(), Verified: c.Bound(), caller: c}, s.Now()
	return apply(ctx, s, c, change{fire: in.FireID, now: now}, func(tx *store.Tx, f *Fire) (Said, error) {
		e, err := f.Abandon(by, now)
		if err != nil {
			return Said{}, err
		}
		record(tx, e)
		return Said{"Duel abandoned. State reverted to DEBATING. No BattlePlan mutation."}, nil
	})
}

// Duels returns a page of the duels that ended, newest first.
func (s *Service) Duels(ctx context.Context, c identity.Caller, in DuelsInput) (DuelsOutput, error) {
	out := DuelsOutput{Duels: []Ended{}}
	before, err := position(in.Cursor, math.MaxInt64)
	if err != nil {
		return out, err
	}
	now, t, limit := s.Now(), s.DB.User(c.User), in.Limit
	f, err := load(ctx, t, in.FireID)
	if err != nil {
		return out, err
	}
	// An overdue duel is the newest one. Its end may have been recorded since the fire was read, so the query below
	// starts before it.
	if e := f.Lapse(now); e != nil && e.Number < before {
		out.Duels = append(out.Duels, *e)
		before = e.Number
	}
	if more := limit - len(out.Duels); more > 0 {
		page, err := duels.Under(f.ID).Query(ctx, t, store.Query{
			Where: []store.Cond{store.Lt("number", before)},
			Order: []string{"number desc"},
			Limit: more,
		})
		if err != nil {
			return out, err
		}
		for _, d := range page.Docs {
			out.Duels = append(out.Duels, d.Value)
		}
	}
	if n := len(out.Duels); n == limit && out.Duels[n-1].Number > 1 {
		out.NextCursor = strconv.FormatInt(out.Duels[n-1].Number, 10)
	}
	return out, nil
}
