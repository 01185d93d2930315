package files

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
)

func TestALineHoldsAllOfAReservation(t *testing.T) {
	t.Parallel()
	at := domaintest.Start.Add(1234567 * time.Microsecond)
	for _, r := range []Reservation{
		{Token: 7, Pattern: "src/**/*.go", Mode: Shared, Holder: Holder{Program: "alpha", Session: "alpha.1"}, Reason: "r ✓",
			TaskID: "t", Worktree: "w", Lease: 60, Since: at, Until: at.Add(time.Minute)},
		{Token: 1 << 40, Pattern: "a ␟ \"b", Mode: Exclusive, Holder: Holder{KeyID: "0123", Human: true}, Since: at, Until: at},
	} {
		if got, err := readLine(r.line()); err != nil || got != r {
			t.Errorf("%+v is read as %+v, %v", r, got, err)
		}
	}
	if got, err := readLine((&Reservation{Reason: "a␟b\nc", Since: at, Until: at}).line()); got.Reason != "a b c" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, line := range []string{"", "x", strings.Repeat(separator, lineFields-1)} {
		_, err := readLine(line)
		domaintest.Refused(t, line, err, fault.Internal)
	}
}
