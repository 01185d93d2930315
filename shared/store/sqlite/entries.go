package sqlite

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"parley.internal/shared/store"
)

// prefix is what every key of an index begins with: its number, and for an index
// of one user's collection the user and the path.
func (d *Driver) prefix(x *store.Index, def *store.Def, user, coll string) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 160), d.number(def, x))
	if !x.Group {
		b = appendString(b, user)
		b = appendString(b, coll)
	}
	return b
}

// appendRef ends a key with the document, so that it decides between equals: in
// the direction of the index's last field, as in Firestore.
func appendRef(b []byte, x *store.Index, ref store.Ref) []byte {
	start := len(b)
	if x.Group {
		b = appendString(b, ref.User)
		b = appendString(b, ref.Coll)
	}
	b = appendString(b, ref.ID)
	if x.Fields[len(x.Fields)-1].Desc {
		for i := start; i < len(b); i++ {
			b[i] = ^b[i]
		}
	}
	return b
}

// keys are a document's keys in all indexes of its collection, sorted.
func (d *Driver) keys(def *store.Def, ref store.Ref, doc store.Fields) [][]byte {
	var out [][]byte
	if doc == nil {
		return nil
	}
	for _, x := range def.Indexes {
		if !x.MergeOnly { // what it would narrow is seen in the documents
			out = append(out, d.indexKeys(x, def, ref, doc)...)
		}
	}
	slices.SortFunc(out, bytes.Compare)
	return out
}

// indexKeys are a document's keys in one index: none where it lacks a field, one
// for each different member of an array.
func (d *Driver) indexKeys(x *store.Index, def *store.Def, ref store.Ref, doc store.Fields) [][]byte {
	keys := [][]byte{d.prefix(x, def, ref.User, ref.Coll)}
	for _, f := range x.Fields {
		v, ok := doc.At(f.Path)
		if !ok {
			return nil
		}
		if !f.Array {
			for i := range keys {
				if keys[i], ok = appendValue(keys[i], v, f.Desc); !ok {
					return nil
				}
			}
			continue
		}
		members, _ := v.([]any)
		grown := make([][]byte, 0, len(members))
		for _, k := range keys {
			for _, e := range members {
				next, ok := appendValue(append(make([]byte, 0, len(k)+96), k...), e, f.Desc)
				if ok && !slices.ContainsFunc(grown, func(g []byte) bool { return bytes.Equal(g, next) }) {
					grown = append(grown, next)
				}
			}
		}
		keys = grown
	}
	for i := range keys {
		keys[i] = appendRef(keys[i], x, ref)
	}
	return keys
}

// rowName is what an index row says of its document: the user, the path and the id.
func rowName(ref store.Ref) string { return ref.User + "\x00" + ref.Coll + "\x00" + ref.ID }

func parseRowName(s string) store.Ref {
	parts := strings.SplitN(s, "\x00", 3)
	return store.Ref{User: parts[0], Coll: parts[1], ID: parts[2]}
}

// number is the index's own. That of a declaration that is not the schema's is
// found by its name.
func (d *Driver) number(def *store.Def, x *store.Index) uint16 {
	if n, ok := d.numbers[x]; ok {
		return n
	}
	return d.byName[indexName(def, x)]
}
