package main

import (
	"strings"
	"testing"
)

func TestALateRoundThatIsTooSlowIsReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		early, late []float64
		want        string
	}{
		{[]float64{2, 2, 9}, []float64{2.5, 1, 90}, "\nround 50 ÷ round 2: 1.25, limit 1.3  holds\n"},
		{[]float64{2, 2, 9}, []float64{2.7, 1, 90}, "\nround 50 ÷ round 2: 1.35, limit 1.3  DOES NOT HOLD\n"},
		{nil, nil, "\nround 50 ÷ round 2: NaN, limit 1.3  DOES NOT HOLD\n"}, // not measured
	} {
		var out strings.Builder
		a := roundStats{took: map[int][]float64{2: c.early, 3: {1000}, 49: {1}, 50: c.late},
			bytes: map[int][]float64{2: {700}, 50: {900}}}
		if err := a.report(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), c.want) {
			t.Errorf("%s\nwant %q", out.String(), c.want)
		}
	}
}
