package ledger

import (
	"fmt"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/op"
)

func TestAnObservationIsCountedOnceForItsProgram(t *testing.T) {
	each(t, func(t *testing.T, w *book) {
		ctx, alpha, beta := t.Context(), domaintest.Bound("u", "alpha"), domaintest.Bound("u", "beta")
		var all []Observation
		for i := range 10 {
			all = append(all, Observation{ID: fmt.Sprint("m", i), Model: "opus", SessionID: "alpha/1", TokensIn: 100, CostUSD: 0.25})
		}
		failed := domaintest.Together(4, func(i int) error {
			return domaintest.Retry(ctx, func() error { return domaintest.Err(w.Observe(ctx, alpha, all[i:])) })
		})
		if len(failed) > 0 {
			t.Fatal(failed)
		}
		if n := domaintest.Must(w.Observe(ctx, beta, all[:1]))(t); n != 1 {
			t.Errorf("another program's record with the same id is counted %d times", n)
		}
		if n := domaintest.Must(w.Observe(ctx, alpha, append(all, all...)))(t); n != 0 {
			t.Errorf("%d are counted again", n)
		}
		sums := domaintest.Must(w.Usage(ctx, alpha, op.Fill(UsageInput{GroupBy: ByProgram})))(t)
		if sums.Total.TokensIn != 1100 || sums.Total.CostUSD != 2.75 || sums.Total.Calls != 0 || len(sums.Groups) != 2 {
			t.Errorf("the sums are %+v", sums)
		}
	})
}
