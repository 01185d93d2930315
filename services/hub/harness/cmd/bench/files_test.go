package main

import (
	"strings"
	"testing"
	"time"
)

func TestACheckOfFilesThatIsTooSlowIsReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slowest time.Duration
		want    string
	}{{5 * time.Millisecond, "5.00          holds\n"}, {6 * time.Millisecond, "5.00          DOES NOT HOLD\n"}} {
		took := make([]time.Duration, 20)
		took[0] = c.slowest
		var out strings.Builder
		if err := reportChecks(&out, took); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), c.want) {
			t.Errorf("%s\nwant %q", out.String(), c.want)
		}
	}
}
