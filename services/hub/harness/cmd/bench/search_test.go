package main

import (
	"strings"
	"testing"
	"time"
)

func TestASearchThatIsTooSlowIsReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slowest time.Duration
		want    string
	}{{20 * time.Millisecond, "20.00         holds\n"}, {21 * time.Millisecond, "20.00         DOES NOT HOLD\n"}} {
		took := make([]time.Duration, 20)
		took[0] = c.slowest
		var out strings.Builder
		if err := reportSearches(&out, 100, [][]time.Duration{took}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), c.want) {
			t.Errorf("%s\nwant %q", out.String(), c.want)
		}
	}
}

func TestEverySortOfSearchIsMeasured(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := searches(t.Context(), t.TempDir(), 300, 2, &out); err != nil {
		t.Fatal(err)
	}
	for _, s := range searched {
		if !strings.Contains(out.String(), s.name) {
			t.Errorf("%s is missing in\n%s", s.name, out.String())
		}
	}
}
