package store

import (
	"strings"
	"time"

	"parley.internal/shared/fault"
)

// MaxDocument is the maximum size of a document, in bytes as Firestore counts them
// (https://firebase.google.com/docs/firestore/storage-size).
const MaxDocument = 1 << 20

// overhead is the fixed size of a document, 32 bytes, and room for the field that a driver adds.
const overhead = 32 + 32

func sizeOf(v any) int {
	switch x := v.(type) {
	case nil, bool:
		return 1
	case int64, float64, time.Time:
		return 8
	case string:
		return len(x) + 1
	case []any:
		n := 0
		for _, e := range x {
			n += sizeOf(e)
		}
		return n
	case Fields:
		n := 0
		for k, e := range x {
			n += len(k) + 1 + sizeOf(e)
		}
		return n
	}
	return 0
}

// Size returns the size of the fields of a document as Firestore counts them, with the overhead of a document.
func Size(d Fields) int { return overhead + sizeOf(d) }

// CheckSize returns an Invalid fault if the document is larger than [MaxDocument].
func CheckSize(ref Ref, d Fields) error {
	n := 16 + len("users") + 1 + len(ref.User) + 1 + len(ref.ID) + 1 + overhead + sizeOf(d)
	for s := range strings.SplitSeq(ref.Coll, "/") {
		n += len(s) + 1
	}
	if n > MaxDocument {
		return fault.New(fault.Invalid, "the document would have %d bytes; it must have at most %d", n, MaxDocument)
	}
	return nil
}
