package scale

import (
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/scale/tally"
)

// good is the report of a run that kept to all limits, with each value as close to its limit as it may be.
func good() *Report {
	fine := tally.Sum{Sent: 10, Received: 10, Again: 3, P99: WakeAtMost - 1}
	return &Report{Agents: 1000, Peak: MemoryAtMost - 1, Calls: map[string]Calls{"send": {Requests: 9, Repeated: 2}},
		Channels: []Channel{{mail, fine}, {teamMail, fine}, {tasks, tally.Sum{P99: time.Hour}}}}
}

func TestEachLimitOfARunIsJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Report)
		says   string // of the limit that does not hold; empty if all hold
		quick  bool   // it is judged in a quick run too
	}{
		"all hold":                {func(*Report) {}, "", true},
		"a lost message":          {func(r *Report) { r.Channels[0].Lost = 1 }, "lost: 1", true},
		"a lost task":             {func(r *Report) { r.Channels[2].Lost = 2 }, "lost: 2", true},
		"a doubled team message":  {func(r *Report) { r.Channels[1].Doubled = 1 }, "doubled: 1", true},
		"a failed call":           {func(r *Report) { r.Calls["send"] = Calls{Failed: 1} }, "failed calls: 1", true},
		"too much memory":         {func(r *Report) { r.Peak = MemoryAtMost }, "memory of the server: 512", false},
		"memory that is unknown":  {func(r *Report) { r.Peak = 0 }, "memory of the server: 0", false},
		"a slow message":          {func(r *Report) { r.Channels[0].P99 = WakeAtMost }, "by a message: 100.0", false},
		"a slow team message":     {func(r *Report) { r.Channels[1].P99 = time.Second }, "by a team message: 1000.0", false},
		"wakes without a message": {func(r *Report) { r.Channels[0].Sum = tally.Sum{} }, "by a message: 0.0", false},
	} {
		for _, quick := range []bool{false, true} {
			r := good()
			r.Quick = quick
			c.change(r)
			var out strings.Builder
			if err := r.Write(&out); err != nil {
				t.Fatal(err)
			}
			want := c.says == "" || quick && !c.quick
			if r.Holds() != want || strings.Contains(out.String(), "DOES NOT HOLD") == want {
				t.Errorf("%s, quick %v: holds is %v\n%s", name, quick, r.Holds(), out.String())
			}
			if !want && !strings.Contains(out.String(), c.says) {
				t.Errorf("%s, quick %v: want %q in\n%s", name, quick, c.says, out.String())
			}
		}
	}
}
