package tally

import (
	"fmt"
	"testing"
	"time"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestATextIsLostOnlyIfItsSendingWasAcknowledged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      func(*Tally)
		want    Sum
		missing int
	}{
		"received": {func(y *Tally) {
			y.Acknowledged("mail", "a")
			y.Received("mail", "a", begin.Add(time.Second), false)
		}, Sum{Sent: 1, Received: 1, P50: time.Second, P99: time.Second, Max: time.Second}, 0},
		"received before the acknowledgement": {func(y *Tally) {
			y.Received("mail", "a", begin.Add(time.Second), false)
			y.Acknowledged("mail", "a")
		}, Sum{Sent: 1, Received: 1, P50: time.Second, P99: time.Second, Max: time.Second}, 0},
		"never received":      {func(y *Tally) { y.Acknowledged("mail", "a") }, Sum{Sent: 1, Lost: 1}, 1},
		"never acknowledged":  {func(*Tally) {}, Sum{}, 0},
		"received by another": {func(y *Tally) { y.Received("team", "a", begin, false) }, Sum{}, 0},
		"received twice": {func(y *Tally) {
			y.Acknowledged("mail", "a")
			y.Received("mail", "a", begin, false)
			y.Received("mail", "a", begin, false)
		}, Sum{Sent: 1, Received: 1, Doubled: 1}, 0},
		"received again with a mark": {func(y *Tally) {
			y.Acknowledged("mail", "a")
			y.Received("mail", "a", begin, false)
			y.Received("mail", "a", begin.Add(time.Minute), true)
		}, Sum{Sent: 1, Received: 1, Again: 1}, 0},
		"received with a mark alone, because the first answer was lost": {func(y *Tally) {
			y.Acknowledged("mail", "a")
			y.Received("mail", "a", begin.Add(time.Minute), true)
		}, Sum{Sent: 1, Received: 1, Again: 1, P50: time.Minute, P99: time.Minute, Max: time.Minute}, 0},
		"not announced": {func(y *Tally) {
			y.Acknowledged("mail", "b")
			y.Received("mail", "b", begin, false)
		}, Sum{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := New()
			y.Sending("mail", "a", begin)
			c.do(y)
			if got := y.Sum("mail"); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if got := y.Missing(); got != c.missing {
				t.Errorf("%d are missing, want %d", got, c.missing)
			}
		})
	}
}

func TestThePercentilesAreOfTheFirstReceipts(t *testing.T) {
	t.Parallel()
	y := New()
	for i := 1; i <= 200; i++ {
		text := fmt.Sprint(i)
		y.Sending("mail", text, begin)
		y.Received("mail", text, begin.Add(time.Duration(i)), false)
		y.Received("mail", text, begin.Add(time.Hour), true)
	}
	if got := y.Sum("mail"); got.P50 != 100 || got.P99 != 198 || got.Max != 200 {
		t.Errorf("got %+v", got)
	}
}
