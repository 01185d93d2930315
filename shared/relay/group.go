package relay

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// The targets that stand for several programs.
const (
	all         = "all"
	groupPrefix = "group:"
)

// Group is a document: a set of programs that one message can be sent to. Its name is the document's id.
type Group struct {
	Members []string `json:"members"`
	// Maker is the caller that made the group, and Open means that any program may join it.
	Maker     identity.Owner `json:"maker,omitzero"`
	Open      bool           `json:"open,omitempty"`
	UpdatedAt time.Time      `json:"updatedAt"`
}

// groups is the collection of groups. It is read by name alone.
var groups = store.Collection[Group]{Name: "groups", Unindexed: []string{"members", "updatedAt", "maker"}}

// distinct returns the names sorted, without duplicates and empty names. It is never nil.
func distinct(names []string) []string {
	out := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(strings.Compare(identity.Fold(a), identity.Fold(b)), strings.Compare(a, b))
	})
	return append([]string{}, slices.CompactFunc(out, identity.Same)...)
}

// withoutSender returns the distinct names without that of the sender.
func withoutSender(names []string, sender string) []string {
	return slices.DeleteFunc(distinct(names), func(n string) bool { return identity.Same(n, sender) })
}

// copyID returns the id of a recipient's copy. It is derived from the multicast's id, so that a transaction that is
// retried makes no further copies.
func copyID(multicastID, recipient string) string {
	sum := sha256.Sum256([]byte(recipient))
	return multicastID + "." + hex.EncodeToString(sum[:8])
}

// mayChange returns Forbidden if the caller may not give an existing group these members: its maker and people may give
// it any; a program may leave it, and join it if it is open.
func (g *Group) mayChange(c identity.Caller, in SetGroupInput, members []string) error {
	if g.Maker.Is(c) {
		return nil
	}
	if c.Bound() && (in.Open == nil || *in.Open == g.Open) {
		left, joined := difference(g.Members, members), difference(members, g.Members)
		own := func(names []string) bool { return len(names) == 1 && identity.Same(names[0], c.Program) }
		if len(left)+len(joined) == 0 || own(left) && len(joined) == 0 || own(joined) && len(left) == 0 && g.Open {
			return nil
		}
	}
	rule := "a program may leave it"
	if g.Open {
		rule = "a program may join or leave it"
	}
	return fault.New(fault.Forbidden, "only %s may change the members of %s; %s; %s", g.Maker.Or("made the group"),
		in.Name, rule, c)
}

// difference returns the names in a that are not in b.
func difference(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(n string) bool {
		_, found := identity.Among(b, n)
		return found
	})
}
