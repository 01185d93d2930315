package relay

import (
	"cmp"
	"context"
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

// Group is a document: a set of programs that one message can be sent to. Its id is made from its name.
type Group struct {
	// Name is the first spelling of the name, empty in groups from before it was kept, whose ids are their names.
	Name    string   `json:"name,omitempty"`
	Members []string `json:"members"`
	// Maker is the caller that made the group, and Open means that any program may join it.
	Maker     identity.Owner `json:"maker,omitzero"`
	Open      bool           `json:"open,omitempty"`
	UpdatedAt time.Time      `json:"updatedAt"`
}

// groups is the collection of groups. It is read by name alone.
var groups = store.Collection[Group]{Name: "groups", PartOf: "a group",
	Unindexed: []string{"name", "members", "updatedAt", "maker"},
	Log:       "group", Note: func(g *Group, id string) store.Note {
		return store.Note{ID: cmp.Or(g.Name, id), Line: cmp.Or(g.Name, id)}
	}}

// loadGroup returns a group by its name and the id of its document, found or not. A group from before names were folded
// is found by its own spelling.
func loadGroup(ctx context.Context, tx *store.Tx, name string) (g Group, id string, found bool, err error) {
	id = identity.NameID(name)
	f := groups.Fetch(id, &g)
	if id == name {
		err = store.Load(ctx, tx, f)
		return g, id, f.Found, err
	}
	var older Group
	o := groups.Fetch(name, &older)
	if err := store.Load(ctx, tx, f, o); err != nil {
		return g, id, false, err
	}
	if o.Found && !f.Found {
		return older, name, true, nil
	}
	return g, id, f.Found, nil
}

// distinct returns the names sorted, without empty names and with the first spelling of each. It is never nil.
func distinct(names []string) []string {
	out := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	slices.SortStableFunc(out, func(a, b string) int { return strings.Compare(identity.Fold(a), identity.Fold(b)) })
	return append([]string{}, slices.CompactFunc(out, identity.Same)...)
}

// replace gives the group other members. Those that stay keep their spelling.
func (g *Group) replace(members []string) {
	kept := g.Members
	g.Members = make([]string, len(members))
	for i, m := range members {
		g.Members[i], _ = identity.Among(kept, m)
	}
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
