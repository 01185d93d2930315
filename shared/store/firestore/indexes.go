package firestore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"parley.internal/shared/store"
)

type indexFile struct {
	Indexes        []compositeIndex `json:"indexes"`
	FieldOverrides []fieldOverride  `json:"fieldOverrides"`
}

type compositeIndex struct {
	CollectionGroup string       `json:"collectionGroup"`
	QueryScope      string       `json:"queryScope"`
	Fields          []indexField `json:"fields"`
}

type indexField struct {
	FieldPath   string `json:"fieldPath"`
	Order       string `json:"order,omitempty"`
	ArrayConfig string `json:"arrayConfig,omitempty"`
}

type fieldOverride struct {
	CollectionGroup string        `json:"collectionGroup"`
	FieldPath       string        `json:"fieldPath"`
	TTL             bool          `json:"ttl,omitempty"`
	Indexes         []singleIndex `json:"indexes"`
}

type singleIndex struct {
	Order       string `json:"order,omitempty"`
	ArrayConfig string `json:"arrayConfig,omitempty"`
	QueryScope  string `json:"queryScope"`
}

const (
	ascending, descending, contains = "ASCENDING", "DESCENDING", "CONTAINS"
	oneCollection, allUsers         = "COLLECTION", "COLLECTION_GROUP"
)

// automatic returns the indexes that Firestore keeps of a field without an override.
func automatic() []singleIndex {
	return []singleIndex{
		{Order: ascending, QueryScope: oneCollection},
		{Order: descending, QueryScope: oneCollection},
		{ArrayConfig: contains, QueryScope: oneCollection},
	}
}

// IndexesJSON returns the contents of firestore.indexes.json for a schema. The result does not depend on the order of
// the collections. It fails if a field is both indexed and unindexed.
func IndexesJSON(schema *store.Schema) ([]byte, error) {
	file := indexFile{Indexes: []compositeIndex{}, FieldOverrides: []fieldOverride{}}
	for _, def := range schema.Defs() {
		overrides, err := overridesOf(def)
		if err != nil {
			return nil, err
		}
		file.FieldOverrides = append(file.FieldOverrides, overrides...)
		for _, x := range def.Indexes {
			if c, needed := compositeOf(def, x); needed && !slices.ContainsFunc(file.Indexes, c.equal) {
				file.Indexes = append(file.Indexes, c)
			}
		}
	}
	slices.SortFunc(file.Indexes, compositeIndex.compare)
	slices.SortFunc(file.FieldOverrides, func(a, b fieldOverride) int {
		return cmp.Or(cmp.Compare(a.CollectionGroup, b.CollectionGroup), cmp.Compare(a.FieldPath, b.FieldPath))
	})
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(file)
	return text.Bytes(), err
}

func orderName(desc bool) string {
	if desc {
		return descending
	}
	return ascending
}

// compositeOf returns the composite index of a declared index. needed is false if Firestore's automatic index of the
// single field serves. The id, with which every index ends, is left out: its direction is that of the last field by
// default.
func compositeOf(def *store.Def, x *store.Index) (c compositeIndex, needed bool) {
	c = compositeIndex{CollectionGroup: def.ID(), QueryScope: oneCollection}
	if x.Group {
		c.QueryScope = allUsers
		c.Fields = []indexField{{FieldPath: shardField, Order: ascending}}
	}
	for _, f := range x.Fields {
		if f.Array {
			c.Fields = append(c.Fields, indexField{FieldPath: f.Path, ArrayConfig: contains})
		} else {
			c.Fields = append(c.Fields, indexField{FieldPath: f.Path, Order: orderName(f.Desc)})
		}
	}
	return c, len(c.Fields) > 1
}

func (c compositeIndex) equal(o compositeIndex) bool {
	return c.CollectionGroup == o.CollectionGroup && c.QueryScope == o.QueryScope && slices.Equal(c.Fields, o.Fields)
}

func (c compositeIndex) compare(o compositeIndex) int {
	return cmp.Or(cmp.Compare(c.CollectionGroup, o.CollectionGroup), cmp.Compare(c.QueryScope, o.QueryScope),
		slices.CompareFunc(c.Fields, o.Fields, func(a, b indexField) int {
			return cmp.Or(cmp.Compare(a.FieldPath, b.FieldPath), cmp.Compare(a.Order, b.Order),
				cmp.Compare(a.ArrayConfig, b.ArrayConfig))
		}))
}

// overridesOf returns the differences between a collection's declarations and the automatic indexes: unindexed fields
// have none.
func overridesOf(def *store.Def) ([]fieldOverride, error) {
	var out []fieldOverride
	named := func(path string) bool {
		return slices.ContainsFunc(def.Indexes, func(x *store.Index) bool {
			return slices.ContainsFunc(x.Fields, func(f store.Field) bool { return f.Path == path })
		})
	}
	at := func(path string, indexes []singleIndex) *fieldOverride {
		i := slices.IndexFunc(out, func(o fieldOverride) bool { return o.FieldPath == path })
		if i < 0 {
			i = len(out)
			out = append(out, fieldOverride{CollectionGroup: def.ID(), FieldPath: path, Indexes: indexes})
		}
		return &out[i]
	}
	for _, path := range def.Unindexed {
		if named(path) {
			return nil, fmt.Errorf("firestore: %s: the field %s must not be both indexed and unindexed", def.Name, path)
		}
		at(path, []singleIndex{})
	}
	if sharded(def) {
		at(shardField, []singleIndex{})
	}
	if def.TTL {
		indexes := []singleIndex{}
		if slices.ContainsFunc(def.Indexes, func(x *store.Index) bool {
			return !x.Group && slices.ContainsFunc(x.Fields, func(f store.Field) bool { return f.Path == store.PurgeField })
		}) {
			indexes = automatic()
		}
		at(store.PurgeField, indexes).TTL = true
	}
	return out, nil
}
