package sqlite

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"parley.internal/shared/store"
)

// prefix returns the beginning of every key of an index: its number and, unless it covers all users, the user and the
// collection's path.
func (d *Driver) prefix(x *store.Index, def *store.Def, user, coll string) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 160), d.number(def, x))
	if !x.Group {
		b = appendString(b, user)
		b = appendString(b, coll)
	}
	return b
}

// appendRef appends the document's reference, which orders rows of equal values: in the direction of the index's last
// field, as in Firestore.
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

// rows returns the document's rows in all indexes of its collection, sorted by key.
func (d *Driver) rows(def *store.Def, ref store.Ref, doc store.Fields) []indexRow {
	var out []indexRow
	if doc == nil {
		return nil
	}
	for _, x := range def.Indexes {
		if x.MergeOnly { // a query tests the documents instead
			continue
		}
		name := ref.ID
		if x.Group {
			name = groupName(ref)
		}
		for _, k := range d.indexKeys(x, def, ref, doc) {
			out = append(out, indexRow{k, name})
		}
	}
	slices.SortFunc(out, compareRows)
	return out
}

// indexKeys returns the document's keys in one index: none if it lacks a field, and one for each distinct element of an
// array.
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

func compareRows(a, b indexRow) int { return bytes.Compare(a.key, b.key) }

// groupName returns the name of a document in a row of an index over all users: the user, the path and the id. Rows of
// other indexes have the id alone.
func groupName(ref store.Ref) string { return ref.User + "\x00" + ref.Coll + "\x00" + ref.ID }

// refOf returns the document that a row of the plan's index names.
func refOf(p store.Plan, name string) store.Ref {
	if !p.Index.Group {
		return store.Ref{User: p.User, Coll: p.Coll, ID: name}
	}
	parts := strings.SplitN(name, "\x00", 3)
	return store.Ref{User: parts[0], Coll: parts[1], ID: parts[2]}
}

// number returns the number of the index. A declaration other than the schema's is found by its name.
func (d *Driver) number(def *store.Def, x *store.Index) uint16 {
	if n, ok := d.numbers[x]; ok {
		return n
	}
	return d.byName[indexName(def, x)]
}
