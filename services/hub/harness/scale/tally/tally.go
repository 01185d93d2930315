package tally

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Tally is the record of a run. It is safe for concurrent use. Create it with [New].
type Tally struct {
	mu       sync.Mutex
	channels map[string]map[string]*item
}

// item is one text of a channel.
type item struct {
	at           time.Time // of the sending
	acknowledged bool
	received     int // times without a mark
	again        int // times with a mark that it may have come before
	took         time.Duration
}

// New returns an empty tally.
func New() *Tally { return &Tally{channels: map[string]map[string]*item{}} }

// Sending announces a text that is about to be sent.
func (t *Tally) Sending(channel, text string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.channels[channel] == nil {
		t.channels[channel] = map[string]*item{}
	}
	t.channels[channel][text] = &item{at: at}
}

// Acknowledged records that the server acknowledged the sending of an announced text.
func (t *Tally) Acknowledged(channel, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.channels[channel][text]; i != nil {
		i.acknowledged = true
	}
}

// Received records that a text was received; again says that it was marked as one that may have come before. A text that
// was not announced is not counted.
func (t *Tally) Received(channel, text string, at time.Time, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.channels[channel][text]
	if i == nil {
		return
	}
	if i.received+i.again == 0 {
		i.took = at.Sub(i.at)
	}
	if again {
		i.again++
		return
	}
	i.received++
}

// Missing returns the number of acknowledged texts of all channels that were not received yet.
func (t *Tally) Missing() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, items := range t.channels {
		for _, i := range items {
			if i.lost() {
				n++
			}
		}
	}
	return n
}

func (i *item) lost() bool { return i.acknowledged && i.received+i.again == 0 }

// Sum is the result of a channel.
type Sum struct {
	Sent, Received int
	// Lost counts the acknowledged texts that were never received, Doubled those that came more than once without a mark,
	// and Again the receipts with a mark.
	Lost, Doubled, Again int
	// P50, P99 and Max are times from the sending to the first receipt.
	P50, P99, Max time.Duration
}

// Sum returns the result of a channel.
func (t *Tally) Sum(channel string) (s Sum) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var took []time.Duration
	for _, i := range t.channels[channel] {
		if i.acknowledged {
			s.Sent++
		}
		if i.received+i.again > 0 {
			s.Received++
			took = append(took, i.took)
		}
		if i.lost() {
			s.Lost++
		}
		if i.received > 1 {
			s.Doubled++
		}
		s.Again += i.again
	}
	slices.Sort(took)
	s.P50, s.P99, s.Max = rank(took, 0.5), rank(took, 0.99), rank(took, 1)
	return s
}

// rank returns the quantile q of sorted times by nearest rank, 0 for none.
func rank(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}
