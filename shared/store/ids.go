package store

import (
	"strings"
	"unicode/utf8"

	"parley.internal/shared/fault"
)

// MaxID is the longest id of a document, in bytes.
const MaxID = 1500

// checkID refuses what Firestore refuses as the id of a document, and the star
// that stands for a parent in a collection's name.
func checkID(id string) error {
	switch {
	case id == "", id == ".", id == "..", len(id) > MaxID, !utf8.ValidString(id),
		strings.ContainsAny(id, "/*\x00"), strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__"):
		return fault.New(fault.Invalid, "%.60q is not an id", id)
	}
	return nil
}
