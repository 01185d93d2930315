package elenchus

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
)

// shown returns outputs as round:role:text.
func shown(list []OutputView) []string {
	out := []string{}
	for _, o := range list {
		out = append(out, fmt.Sprintf("%d:%s:%s", o.Round, o.Role, o.Output))
	}
	return out
}

func TestTheCriticReadsWhatTheVerifierWrote(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		if got := c.outputs(beta, ContextInput{SessionID: id}); got.Outputs == nil || len(got.Outputs) != 0 || got.NextCursor != "" {
			t.Errorf("before the first round: %+v", got)
		}
		c.Clock.Pass(time.Minute)
		c.turn(id, RoundInput{Output: "the token leaks in src/auth.ts:1", IssuesRaised: fresh(Critical, "A")})
		got := c.outputs(beta, ContextInput{SessionID: id})
		want := OutputView{Round: 1, Role: Verifier, By: "alpha", Verified: true, At: c.Clock.Now(), Bytes: 32,
			Output: "the token leaks in src/auth.ts:1"}
		if len(got.Outputs) != 1 || got.Outputs[0] != want || got.NextCursor != "" || got.NextRole != Critic {
			t.Errorf("%+v", got)
		}
		for _, who := range []identity.Caller{alpha, unbound, human} {
			if got := c.outputs(who, ContextInput{SessionID: id}); !slices.Equal(shown(got.Outputs), shown([]OutputView{want})) {
				t.Errorf("%s reads %+v", who, got.Outputs)
			}
		}
		domaintest.Must(c.SubmitRound(t.Context(), beta, RoundInput{SessionID: id, Role: Critic, Output: "it does not"}))(t)
		domaintest.Must(c.SubmitRound(t.Context(), alpha, RoundInput{SessionID: id, Role: Verifier, Output: "it does"}))(t)
		last := []string{"3:verifier:it does", "2:critic:it does not"}
		if got := c.outputs(beta, ContextInput{SessionID: id}); !slices.Equal(shown(got.Outputs), last) || got.NextCursor == "" {
			t.Errorf("%+v", got)
		}
		doc := domaintest.Must(c.Resources()[0].Read(t.Context(), gamma, id))(t).(Document)
		if !slices.Equal(shown(doc.Outputs), last) || doc.SessionID != id || len(doc.Rounds) != 3 || doc.NextCursor == "" {
			t.Errorf("the resource is %+v", doc)
		}
	})
}

func TestAllOutputsAreReadByPages(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(100)
		var want []string
		for n := 1; n <= 9; n++ {
			role := []Role{Critic, Verifier}[n%2]
			want = append([]string{fmt.Sprintf("%d:%s:round %d", n, role, n)}, want...)
			c.turn(id, RoundInput{Output: fmt.Sprint("round ", n), IssuesRaised: fresh(Critical, fmt.Sprint("A", n))})
		}
		// A session from before the ticks of rounds were remembered is read alike.
		for range 2 {
			for _, rounds := range []int{1, 2, 4, 7, 50} {
				in, got := ContextInput{SessionID: id, Rounds: &rounds}, []string{}
				for pages := 0; pages == 0 || in.Cursor != ""; pages++ {
					page := c.outputs(beta, in)
					if len(page.Outputs) == 0 || len(page.Outputs) > rounds || pages > 0 && len(page.Files) != 0 {
						t.Fatalf("page %d of %d rounds: %+v", pages, rounds, page)
					}
					got, in.Cursor = append(got, shown(page.Outputs)...), page.NextCursor
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d rounds at once: %q", rounds, got)
				}
			}
			c.set(id, func(v *Session) {
				for i := range v.Recent {
					v.Recent[i].Tick = 0
				}
			})
		}
	})
}

func TestALongOutputComesInPartsOfWholeCharacters(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		long, short := strings.Repeat("é✓x", maxReply/3), strings.Repeat("y", 100)
		c.turn(id, RoundInput{Output: long})
		c.turn(id, RoundInput{Output: short, IssuesRaised: fresh(Low, "A")})
		var got [3]string
		in := ContextInput{SessionID: id}
		for pages := 0; pages == 0 || in.Cursor != ""; pages++ {
			page, sum := c.outputs(beta, in), 0
			for _, o := range page.Outputs {
				if o.From != len(got[o.Round]) || !utf8.ValidString(o.Output) || o.Bytes != len([]string{"", long, short}[o.Round]) {
					t.Fatalf("round %d from %d of %d", o.Round, o.From, o.Bytes)
				}
				got[o.Round] += o.Output
				sum += len(o.Output)
			}
			if sum > maxReply || pages > 4 || sum == 0 {
				t.Fatalf("page %d has %d bytes", pages, sum)
			}
			in.Cursor = page.NextCursor
		}
		if got[1] != long || got[2] != short {
			t.Errorf("%d and %d bytes, want %d and %d", len(got[1]), len(got[2]), len(long), len(short))
		}
	})
}

func TestOutputsOfRoundsThatWereRolledBackAreLeftOut(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		for n := 1; n <= 4; n++ {
			c.turn(id, RoundInput{Output: fmt.Sprint("first ", n), IssuesRaised: fresh(Critical, fmt.Sprint("A", n))})
		}
		domaintest.Must(c.Rollback(t.Context(), alpha, RollbackInput{id, 2}))(t)
		c.turn(id, RoundInput{Output: "second 3"})
		want := []string{"3:verifier:second 3", "2:critic:first 2", "1:verifier:first 1"}
		got := c.outputs(beta, ContextInput{SessionID: id, Rounds: new(10)})
		if !slices.Equal(shown(got.Outputs), want) || got.NextCursor != "" {
			t.Errorf("%+v", got)
		}
		one := c.outputs(beta, ContextInput{SessionID: id, Rounds: new(1)})
		if rest := c.outputs(beta, ContextInput{SessionID: id, Rounds: new(9), Cursor: one.NextCursor}); !slices.Equal(
			shown(append(one.Outputs, rest.Outputs...)), want) {
			t.Errorf("%+v", rest.Outputs)
		}
	})
}

func TestAnUnknownCursorOfOutputsIsRefused(t *testing.T) {
	each(t, func(t *testing.T, c *fixture) {
		id := c.start(10)
		for _, cursor := range []string{"x", "1", "1.", ".1", "-1.0", "1.-1", "01.0", "1.0.0", "0.0", "9999999999999999999.0"} {
			_, err := c.GetContext(t.Context(), alpha, ContextInput{SessionID: id, Cursor: cursor})
			if domaintest.Fields(err) != "cursor" {
				t.Errorf("%q: %v", cursor, err)
			}
		}
		// One past the end of an output brings nothing, and no fault.
		c.turn(id, RoundInput{Output: "short"})
		if got := c.outputs(alpha, ContextInput{SessionID: id, Cursor: "2.1000"}); len(got.Outputs) != 1 ||
			got.Outputs[0].Output != "" || got.NextCursor != "" {
			t.Errorf("%+v", got)
		}
	})
}
