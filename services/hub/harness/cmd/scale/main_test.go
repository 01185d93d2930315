package main

import (
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/scale"
)

func TestAQuickRunLosesNothingAndDoublesNothing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o := scale.Options{Agents: 80, For: 20 * time.Second, Pace: 2 * time.Second, Seed: 1, Quick: true, Notes: t.Output()}
	report, err := run(t.Context(), o, "", &out)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Holds() {
		t.Error(out.String())
	}
	// A run in which nothing was sent would lose nothing either.
	for _, c := range report.Channels {
		if c.Sent == 0 || c.Received < c.Sent {
			t.Errorf("%s: sent %d, received %d", c.Name, c.Sent, c.Received)
		}
	}
	if report.Peak == 0 {
		t.Error("the memory of the server was not read")
	}
}
