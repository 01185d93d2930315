package store

import (
	"fmt"
	"regexp"
	"strings"
)

// Field is one field of an index or of a query's order.
type Field struct {
	Path  string
	Desc  bool
	Array bool // indexes each element of an array, for Contains and ContainsAny
}

// String returns the field as it is declared.
func (f Field) String() string {
	switch {
	case f.Array:
		return f.Path + "[]"
	case f.Desc:
		return f.Path + " desc"
	}
	return f.Path
}

// Index is a declared index.
type Index struct {
	Fields []Field
	// Group marks an index for queries over all users.
	Group bool
	// MergeOnly marks an index that only narrows queries on another index. A driver that reads the documents anyway
	// need not keep it.
	MergeOnly bool
}

// String returns the index as it is declared.
func (x *Index) String() string {
	parts := make([]string, len(x.Fields))
	for i, f := range x.Fields {
		parts[i] = f.String()
	}
	return strings.Join(parts, ",")
}

var fieldPattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(\[\])?( desc)?$`)

func parseField(s string) (Field, error) {
	m := fieldPattern.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || (m[2] != "" && m[3] != "") {
		return Field{}, fmt.Errorf("store: %q is not a valid index field", s)
	}
	return Field{Path: m[1], Array: m[2] != "", Desc: m[3] != ""}, nil
}

func parseIndex(s string, group bool) (*Index, error) {
	x := &Index{Group: group}
	for part := range strings.SplitSeq(s, ",") {
		f, err := parseField(part)
		if err != nil {
			return nil, err
		}
		x.Fields = append(x.Fields, f)
	}
	return x, nil
}

// at returns the value at a dotted path, and whether there is one.
func (d Fields) at(path string) (any, bool) {
	for {
		head, rest, more := strings.Cut(path, ".")
		v, ok := d[head]
		if !more || !ok {
			return v, ok
		}
		if d, ok = v.(Fields); !ok {
			return nil, false
		}
		path = rest
	}
}

// At returns the value at a dotted path, and whether there is one.
func (d Fields) At(path string) (any, bool) { return d.at(path) }
