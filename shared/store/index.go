package store

import (
	"fmt"
	"regexp"
	"strings"
)

// Field is one member of an index or of a query's order.
type Field struct {
	Path  string
	Desc  bool
	Array bool // the members of an array, for Contains and ContainsAny
}

// String is the field as it is declared.
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
	// Group says that it serves queries over all users.
	Group bool
	// MergeOnly says that it only narrows queries that stand on another index. A
	// driver that reads the documents anyway need not keep it.
	MergeOnly bool
}

// String is the index as it is declared.
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
		return Field{}, fmt.Errorf("store: %q is not a field of an index", s)
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

// at is the value of a dotted path.
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

// At is the value at a dotted path, and whether there is one.
func (d Fields) At(path string) (any, bool) { return d.at(path) }
