package main

import (
	"strings"
	"testing"
)

func TestASweepWhoseMemoryGrowsIsReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		few, many uint64
		want      string
	}{
		{8 << 20, 10 << 20, "÷ 10: 1.25, limit 1.5  holds"},
		{8 << 20, 16 << 20, "÷ 10: 2.00, limit 1.5  DOES NOT HOLD"},
		{1 << 20, 4 << 20, "÷ 10: 1.00, limit 1.5  holds"}, // below the noise
	} {
		var out strings.Builder
		if err := reportSweeps(&out, []swept{
			{store: "s", messages: 10, handled: 10, took: 1, peak: c.few},
			{store: "s", messages: 100, handled: 100, took: 1, peak: c.many},
		}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s\nwant %q", out.String(), c.want)
		}
	}
}
