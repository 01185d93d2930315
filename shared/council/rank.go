package council

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Rank stores the agent's ranking of the responses in place of its earlier one, and joins an agent that has not
// joined. It returns [fault.Invalid] with a problem for each entry that is unknown, repeated or the agent's own
// response, and [fault.Precondition] if there is no council, or if it is closed or full.
func (s *Service) Rank(ctx context.Context, c identity.Caller, in RankInput) (out RankOutput, err error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return out, err
	}
	ranked, err := parseRanking(in.Ranking)
	if err != nil {
		return out, err
	}
	now := s.Now()
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		var all Ballots
		var found []Feedback
		v, err := find(ctx, tx, who, in.SessionID, now, func(id string) []*store.Fetch {
			all, found = Ballots{}, make([]Feedback, len(ranked)) // Drop the data of an earlier council in this call.
			fetches := []*store.Fetch{ballots.Fetch(id, &all)}
			for i, n := range ranked {
				fetches = append(fetches, responses.Under(id).Fetch(number(n), &found[i]))
			}
			return fetches
		})
		if err != nil {
			return err
		}
		if v == nil {
			return errNone()
		}
		write, err := admit(tx, v, &who, now)
		if err != nil {
			return err
		}
		if err := checkRanked(found, in.Ranking, who.name); err != nil {
			return err
		}
		all.cast(who.name, ranked)
		if err := v.Rank(all, now); err != nil {
			return err
		}
		write()
		ballots.Put(tx, v.ID, all)
		out = RankOutput{
			AgentName: who.name,
			SessionID: v.ID,
			Ranking:   make([]string, len(ranked)),
			State:     v.state(who.name),
		}
		for i, n := range ranked {
			out.Ranking[i] = label(n)
		}
		return nil
	})
	return out, err
}

// checkRanked returns [fault.Invalid] if a ranking has an unknown response, or one of the agent's own.
func checkRanked(found []Feedback, ranking []string, agent string) error {
	var wrong []fault.Problem
	for i, f := range found {
		switch {
		case f.ID == "":
			wrong = append(wrong, unknownResponse(i, ranking[i]))
		case identity.Same(f.Author, agent):
			const message = "is your own response; rank those of the others"
			wrong = append(wrong, fault.Problem{Path: rankingPath(i), Message: message})
		}
	}
	if len(wrong) > 0 {
		return fault.Problems(wrong...)
	}
	return nil
}
