package keys

import (
	"net/netip"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// room is the document that counts the pairings which wait for a person, so that strangers cannot fill the store.
type room struct {
	Waiting []waiting `json:"waiting"`
}

// waiting is a pairing that may still be decided about.
type waiting struct {
	Code    string    `json:"code"`
	Network string    `json:"network,omitempty"`
	Until   time.Time `json:"until"`
}

var rooms = store.Collection[room]{Name: "pairingRooms", PartOf: "the pairings of all users",
	Unindexed: []string{"waiting"}}

// theRoom is the id of the only room.
const theRoom = "all"

// The bounds of pairings that wait at once: of all, and of one network.
const (
	maxWaiting        = 500
	maxWaitingNetwork = 10
)

// swept returns the room without the pairings that have expired or have one of the codes.
func (r room) swept(now time.Time, codes ...string) room {
	return room{slices.DeleteFunc(slices.Clone(r.Waiting), func(w waiting) bool {
		return !now.Before(w.Until) || slices.Contains(codes, w.Code)
	})}
}

// admit returns the room with one more pairing, or Exhausted if there are too many, with the time until there is room. A
// network of loopback is not bounded by itself: it is this machine's, or stands for everyone behind an untrusted proxy.
func (r room) admit(w waiting, now time.Time) (room, error) {
	r = r.swept(now)
	of := func(network string) (n int, first time.Time) {
		for _, other := range r.Waiting {
			if network != "" && other.Network != network {
				continue
			}
			if n++; first.IsZero() || other.Until.Before(first) {
				first = other.Until
			}
		}
		return n, first
	}
	if n, first := of(w.Network); n >= maxWaitingNetwork && !local(w.Network) {
		return r, fault.New(fault.Exhausted, "%d pairings from this address wait for a person's approval: approve or deny them, "+
			"or wait until one expires", n).After(first.Sub(now))
	}
	if n, first := of(""); n >= maxWaiting {
		return r, fault.New(fault.Exhausted, "%d pairings wait for approval at this server, which is as many as may: try again when "+
			"one expires, or use a key that `parley key create` makes", n).After(first.Sub(now))
	}
	r.Waiting = append(r.Waiting, w)
	return r, nil
}

func local(network string) bool {
	addr, err := netip.ParseAddr(network)
	if err != nil { // the networks of IPv6 have a length
		prefix, err := netip.ParsePrefix(network)
		return network == "" || err == nil && prefix == netip.MustParsePrefix(identity.Network("::1"))
	}
	return addr.IsLoopback()
}

// guesses is the document that counts a person's wrong user codes.
type guesses struct {
	Count   int       `json:"count"`
	Since   time.Time `json:"since"`
	PurgeAt time.Time `json:"purgeAt"`
}

var guessed = store.Collection[guesses]{Name: "pairingGuesses", PartOf: "a person's wrong codes"}

// theGuesses is the id of the only document of a person's guesses.
const theGuesses = "codes"

// The wrong codes that a person may write within a time.
const (
	maxGuesses = 10
	guessesFor = time.Hour
)

// left returns Exhausted if the person wrote too many wrong codes.
func (g guesses) left(now time.Time) error {
	if until := g.Since.Add(guessesFor); g.Count >= maxGuesses && now.Before(until) {
		return fault.New(fault.Exhausted, "%d wrong codes were given within an hour; wait, and copy the next one from the machine "+
			"that shows it", g.Count).After(until.Sub(now))
	}
	return nil
}

// more returns the guesses with another one.
func (g guesses) more(now time.Time) guesses {
	if g.Count == 0 || !now.Before(g.Since.Add(guessesFor)) {
		g = guesses{Since: now, PurgeAt: now.Add(guessesFor)}
	}
	g.Count++
	return g
}
