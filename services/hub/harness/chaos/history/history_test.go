package history

import (
	"testing"
	"time"
)

// at returns a span in milliseconds.
func at(from, to int) Span {
	return Span{time.UnixMilli(int64(from)), time.UnixMilli(int64(to))}
}

func TestOnlyAHistoryThatAnOrderExplainsIsAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(*History)
		good bool
	}{
		"a claim and its completion": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 1, false)
			h.Completed(1, at(2, 3), "t", 1)
		}, true},
		"two claims, one after the other": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 1, false)
			h.Claimed(2, at(2, 3), "t", 2, false)
		}, false},
		"two claims of different tasks": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 1, false)
			h.Claimed(2, at(2, 3), "u", 2, false)
		}, true},
		"a claim after a release": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 1, false)
			h.Released(1, at(2, 9), "t", 1)
			h.Claimed(2, at(3, 4), "t", 2, false) // during the release
		}, true},
		"a claim before the release began": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 1, false)
			h.Claimed(2, at(2, 3), "t", 2, false)
			h.Released(1, at(4, 5), "t", 1)
		}, false},
		"a claim after a short lease": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 1, true)
			h.Claimed(2, at(2, 3), "t", 2, false)
		}, true},
		"a claim with an old token": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 2, false)
			h.Released(1, at(2, 3), "t", 2)
			h.Claimed(2, at(4, 5), "t", 2, false)
		}, false},
		"a claim after the completion": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 1, false)
			h.Completed(1, at(2, 3), "t", 1)
			h.Claimed(2, at(4, 5), "t", 2, false)
		}, false},
		"two completions": {func(h *History) {
			h.Claimed(1, at(0, 1), "t", 1, false)
			h.Completed(1, at(2, 9), "t", 1)
			h.Completed(2, at(2, 9), "t", 1)
		}, false},
		"a refusal during a claim": {func(h *History) {
			h.Claimed(1, at(0, 5), "t", 1, false)
			h.Refused(2, at(1, 2), "t")
		}, true},
		"a refusal of a free task": {func(h *History) {
			h.Refused(2, at(1, 2), "t")
			h.Claimed(1, at(3, 5), "t", 1, false)
		}, false},
		"a message that is read before its sender knows": {func(h *History) {
			h.Sent(1, at(0, 9), "m", false)
			h.Read(2, at(1, 2), "m", false)
		}, true},
		"a message that is read before it is sent": {func(h *History) {
			h.Sent(1, at(5, 9), "m", false)
			h.Read(2, at(1, 2), "m", false)
		}, false},
		"a message that is read twice": {func(h *History) {
			h.Sent(1, at(0, 1), "m", false)
			h.Read(2, at(2, 5), "m", false)
			h.Read(2, at(3, 4), "m", false)
		}, false},
		"a message that comes until it is acknowledged": {func(h *History) {
			h.Sent(1, at(0, 1), "m", true)
			h.Read(2, at(2, 5), "m", false)
			h.Read(2, at(6, 7), "m", false)
		}, true},
		"a message that is read again and marked so": {func(h *History) {
			h.Sent(1, at(0, 1), "m", false)
			h.Read(2, at(2, 5), "m", false)
			h.Read(2, at(6, 7), "m", true)
		}, true},
		"a message that was never sent": {func(h *History) { h.Read(2, at(2, 5), "m", false) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &History{}
			c.do(h)
			wrong, checked := h.Check()
			if (len(wrong) == 0) != c.good || checked == 0 {
				t.Errorf("got %q after %d calls, want good: %v", wrong, checked, c.good)
			}
		})
	}
}
