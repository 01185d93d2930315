package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"parley.internal/shared/store"
)

// The targets that are many programs.
const (
	all         = "all"
	groupPrefix = "group:"
)

// Group is programs that one message reaches together. Its name is the document's id.
type Group struct {
	Members   []string  `json:"members"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// groups is the collection, read by name alone.
var groups = store.Collection[Group]{Name: "groups", Unindexed: []string{"members", "updatedAt"}}

// distinct is the names in order, each once, the empty one left out.
func distinct(names []string) []string {
	out := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	slices.Sort(out)
	return append([]string{}, slices.Compact(out)...)
}

// others is everyone but the sender.
func others(names []string, sender string) []string {
	return slices.DeleteFunc(distinct(names), func(n string) bool { return n == sender })
}

// copyID is the id of a recipient's copy. It follows from the sending's own, so
// that a transaction that runs again makes no further copies.
func copyID(multicastID, recipient string) string {
	sum := sha256.Sum256([]byte(recipient))
	return multicastID + "." + hex.EncodeToString(sum[:8])
}
