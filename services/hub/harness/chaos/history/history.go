package history

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// act is the kind of a call.
type act int

const (
	claim act = iota
	refusedClaim
	release
	complete
	send
	read
)

// entry is a call with its answer.
type entry struct {
	about string // the task or the message
	act   act
	token int64
	// short says that the lease of a claim may end before the run does, and again that a message comes until it is
	// acknowledged, or that a read marked it.
	short, again bool
}

// Span is the time from the beginning of a call's first attempt to the end of its last.
type Span struct{ From, To time.Time }

// History records the calls of the clients of one user. It is safe for concurrent use. The zero value is empty.
type History struct {
	mu      sync.Mutex
	entries []porcupine.Operation
}

func (h *History) add(client int, at Span, e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, porcupine.Operation{ClientId: client, Input: e, Call: at.From.UnixNano(),
		Return: at.To.UnixNano()})
}

// Claimed records a claim that succeeded. short says that its lease may end within the run.
func (h *History) Claimed(client int, at Span, task string, token int64, short bool) {
	h.add(client, at, entry{about: "task " + task, act: claim, token: token, short: short})
}

// Refused records a claim that was refused because another holds the task or it is over.
func (h *History) Refused(client int, at Span, task string) {
	h.add(client, at, entry{about: "task " + task, act: refusedClaim})
}

// Released records that a claim was given back.
func (h *History) Released(client int, at Span, task string, token int64) {
	h.add(client, at, entry{about: "task " + task, act: release, token: token})
}

// Completed records that a task was completed under a claim.
func (h *History) Completed(client int, at Span, task string, token int64) {
	h.add(client, at, entry{about: "task " + task, act: complete, token: token})
}

// Sent records the sending of a message. again says that it comes until it is acknowledged.
func (h *History) Sent(client int, at Span, message string, again bool) {
	h.add(client, at, entry{about: "message " + message, act: send, again: again})
}

// Read records that a read has returned a message. again says that the answer marked it as one that may have been read
// before.
func (h *History) Read(client int, at Span, message string, again bool) {
	h.add(client, at, entry{about: "message " + message, act: read, again: again})
}

// state is that of a task or a message.
type state struct {
	token int64 // of the last claim
	// held and short are of the claim; over says that the task was completed.
	held, short, over bool
	// sent, again and taken are of the message.
	sent, again, taken bool
}

// step returns the state after a call, and whether the call may have had its answer in the state s.
func step(s state, e entry) (state, bool) {
	switch e.act {
	case claim:
		free := !s.over && (!s.held || s.short) && e.token > s.token
		return state{token: e.token, held: true, short: e.short}, free
	case refusedClaim:
		return s, s.held || s.over
	case release:
		return state{token: s.token}, s.held && s.token == e.token
	case complete:
		return state{token: s.token, over: true}, s.held && s.token == e.token
	case send:
		return state{sent: true, again: e.again}, !s.sent
	case read:
		ok := s.sent && (s.again || e.again || !s.taken)
		s.taken = true
		return s, ok
	}
	return s, false
}

// patience is the time after which the search for an order of one task or message is given up.
const patience = time.Minute

// Check returns the tasks and messages whose calls no order explains, with their calls, and the number of the calls that
// were checked.
func (h *History) Check() (wrong []string, checked int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	about := map[string][]porcupine.Operation{}
	for _, o := range h.entries {
		name := o.Input.(entry).about
		about[name] = append(about[name], o)
	}
	model := porcupine.Model{Init: func() any { return state{} },
		Step: func(s, in, _ any) (bool, any) {
			next, ok := step(s.(state), in.(entry))
			return ok, next
		}}
	for name, calls := range about {
		checked += len(calls)
		if result := porcupine.CheckOperationsTimeout(model, calls, patience); result != porcupine.Ok {
			wrong = append(wrong, fmt.Sprintf("%s: no order explains the answers (%s):%s", name, result, tell(calls)))
		}
	}
	slices.Sort(wrong)
	return wrong, checked
}

var words = [...]string{"claimed", "was refused", "released", "completed", "sent", "read"}

// tell returns the calls as text, in the order of their beginnings.
func tell(calls []porcupine.Operation) (out string) {
	slices.SortFunc(calls, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, o := range calls {
		e := o.Input.(entry)
		ms := func(t int64) float64 { return float64(t-calls[0].Call) / 1e6 }
		out += fmt.Sprintf(" %d %s %d (%.1f to %.1f ms)", o.ClientId, words[e.act], e.token, ms(o.Call), ms(o.Return))
	}
	return out
}
