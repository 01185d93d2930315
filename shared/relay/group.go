package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"parley.internal/shared/store"
)

// The targets that stand for several programs.
const (
	all         = "all"
	groupPrefix = "group:"
)

// Group is a document: a set of programs that one message can be sent to. Its name is the document's id.
type Group struct {
	Members   []string  `json:"members"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// groups is the collection of groups. It is read by name alone.
var groups = store.Collection[Group]{Name: "groups", Unindexed: []string{"members", "updatedAt"}}

// distinct returns the names sorted, without duplicates and empty names. It is never nil.
func distinct(names []string) []string {
	out := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	slices.Sort(out)
	return append([]string{}, slices.Compact(out)...)
}

// withoutSender returns the distinct names without that of the sender.
func withoutSender(names []string, sender string) []string {
	return slices.DeleteFunc(distinct(names), func(n string) bool { return n == sender })
}

// copyID returns the id of a recipient's copy. It is derived from the multicast's id, so that a transaction that is
// retried makes no further copies.
func copyID(multicastID, recipient string) string {
	sum := sha256.Sum256([]byte(recipient))
	return multicastID + "." + hex.EncodeToString(sum[:8])
}
