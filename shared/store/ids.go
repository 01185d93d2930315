package store

import (
	"strings"
	"unicode/utf8"

	"parley.internal/shared/fault"
)

// MaxID is the maximum length of a document's id, in bytes.
const MaxID = 1500

// checkID refuses the ids that Firestore refuses, and the star, which stands for a parent in a collection's name.
func checkID(id string) error {
	switch {
	case id == "", id == ".", id == "..", len(id) > MaxID, !utf8.ValidString(id),
		strings.ContainsAny(id, "/*\x00"), strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__"):
		return fault.New(fault.Invalid, "%.60q is not a valid id", id)
	}
	return nil
}
