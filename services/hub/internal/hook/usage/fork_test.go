package usage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/hook/usage"
)

func TestAForkBooksNothingOfItsParentAgain(t *testing.T) {
	t.Parallel()
	forked := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	lines := func(session, more string, minute int, id string, cost float64) string {
		at := forked.Add(time.Duration(minute) * time.Minute).Format("2006-01-02T15:04:05.000Z")
		return fmt.Sprintf(`{"type":"user","sessionId":%q,"timestamp":%q%s}`+"\n"+
			`{"type":"assistant","sessionId":%q,"timestamp":%q%s,"message":{"id":%q,"model":"m","usage":{"input_tokens":1}}}`+"\n"+
			`{"type":"cost-state","sessionId":%q,"totalCostUSD":%g}`+"\n", session, at, more, session, at, more, id, session, cost)
	}
	parent := lines("p", "", -9, "a", 0.25) + lines("p", "", -8, "b", 0.5)
	own := lines("f", "", 1, "c", 1.5)
	from := `,"forkedFrom":{"sessionId":"p","messageUuid":"u"}`
	for name, c := range map[string]struct {
		copy string
		at   usage.Position
		// sent is the sum of what the fork sends, of which the server counts each id once.
		tokens int64
		sent   float64
	}{
		"a copy with the session's own name":   {lines("f", "", -9, "a", 0.25) + lines("f", "", -8, "b", 0.5), usage.Position{}, 3, 1.5},
		"a copy with the parent's name":        {parent, usage.Position{}, 3, 1.5},
		"a copy that says where it comes from": {lines("f", from, -9, "a", 0.25) + lines("f", from, -8, "b", 0.5), usage.Position{}, 1, 1.5},
		"a copy in a session known as a fork": {lines("f", "", -9, "a", 0.25) + lines("f", "", -8, "b", 0.5),
			usage.Position{Forked: forked}, 1, 1},
		"a part of the parent": {lines("f", "", -9, "a", 0.25), usage.Position{}, 2, 1.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			booked, tokens, dollars := map[string]bool{}, int64(0), 0.0
			read := func(text string, at usage.Position) (sent int64, cost float64) {
				path := file(t, text)
				for done := false; !done; {
					got, next, err := usage.Read("claude", path, at, 2)
					if err != nil {
						t.Fatal(err)
					}
					for _, u := range got {
						sent, cost = sent+u.TokensIn, cost+u.CostUSD
						if !booked[u.ID] {
							tokens, dollars = tokens+u.TokensIn, dollars+u.CostUSD
						}
						booked[u.ID] = true
					}
					done, at = len(got) == 0, next
				}
				return sent, cost
			}
			read(parent, usage.Position{})
			before := dollars
			sent, cost := read(c.copy+own, c.at)
			if sent != c.tokens || cost != c.sent {
				t.Errorf("the fork sends %d tokens and %g dollars", sent, cost)
			}
			spent := 1.0
			if !strings.Contains(c.copy, `"b"`) {
				spent = 1.25
			}
			if tokens != 3 || dollars-before != spent {
				t.Errorf("%d tokens, and %g dollars of the fork are booked", tokens, dollars-before)
			}
		})
	}
}
