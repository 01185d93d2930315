package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley.internal/shared/fault"
)

// A cursor holds the place where a page ended and a fingerprint of its query: the user, the collection, the conditions
// except ranges (which move with the clock) and the order. It is not secret and grants no access: the next page is read
// as the caller's user, whatever the cursor says.

type cursorText struct {
	Query  string   `json:"q"`
	Values []string `json:"v,omitempty"`
	ID     string   `json:"i"`
	User   string   `json:"u,omitempty"`
	Coll   string   `json:"c,omitempty"`
}

func (p *Plan) fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", p.User, p.Coll, p.Def.Name)
	for _, c := range p.Where {
		if !c.Range() {
			fmt.Fprintf(h, "%s %d %#v %#v\n", c.Field, c.Test, c.Value, c.Any)
		}
	}
	for _, f := range p.Order {
		fmt.Fprintln(h, f)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9])
}

func (p *Plan) cursor(last Raw) string {
	text := cursorText{Query: p.fingerprint(), ID: last.Ref.ID}
	if p.User == "" {
		text.User, text.Coll = last.Ref.User, last.Ref.Coll
	}
	for _, f := range p.Order {
		v, _ := last.Fields.at(f.Path)
		text.Values = append(text.Values, cursorValue(v))
	}
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // it has strings only
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func cursorValue(v any) string {
	switch x := v.(type) {
	case nil:
		return "n"
	case bool:
		return fmt.Sprintf("b%v", x)
	case int64:
		return fmt.Sprintf("i%d", x)
	case float64:
		return "f" + strconv.FormatFloat(x, 'x', -1, 64)
	case time.Time:
		return fmt.Sprintf("t%d", x.UnixMicro())
	case string:
		return "s" + x
	}
	return "n"
}

func parseCursorValue(s string) (any, error) {
	kind, rest := s[:min(1, len(s))], strings.TrimPrefix(s, s[:min(1, len(s))])
	switch kind {
	case "n":
		return nil, nil
	case "b":
		return rest == "true", nil
	case "s":
		return rest, nil
	case "i", "t":
		i, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || kind == "i" {
			return i, err
		}
		// A store keeps the years 1 to 9999.
		if t := time.UnixMicro(i).UTC(); t.Year() >= 1 && t.Year() <= 9999 {
			return t, nil
		}
		return nil, fmt.Errorf("the time must be in the years 1 to 9999")
	case "f":
		f, err := strconv.ParseFloat(rest, 64)
		if err != nil || f != f {
			return nil, fmt.Errorf("the value must be a number")
		}
		return f, nil
	}
	return nil, fmt.Errorf("the kind of the value is unknown")
}

// position parses a cursor. Text that is not a cursor, or one of another query, is an Invalid fault of the field
// cursor.
func (p *Plan) position(cursor string) (*Position, error) {
	bad := fault.Field("cursor", "is not a cursor of this call; use the one that came with the page before, "+
		"with the same filters, or leave it out to start again")
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, bad
	}
	var text cursorText
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if dec.Decode(&text) != nil || dec.More() || text.Query != p.fingerprint() {
		return nil, bad
	}
	if len(text.Values) != len(p.Order) || checkID(text.ID) != nil {
		return nil, bad
	}
	pos := &Position{Ref: Ref{User: p.User, Coll: p.Coll, ID: text.ID}}
	if p.User == "" {
		pos.Ref.User, pos.Ref.Coll = text.User, text.Coll
		if checkID(pos.Ref.User) != nil || !pathOf(p.Def.Name, pos.Ref.Coll) {
			return nil, bad
		}
	}
	for _, s := range text.Values {
		v, err := parseCursorValue(s)
		if err != nil {
			return nil, bad
		}
		pos.Values = append(pos.Values, v)
	}
	return pos, nil
}

// pathOf reports whether path is a concrete path of the collection's name.
func pathOf(name, path string) bool {
	want, got := strings.Split(name, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, w := range want {
		if (w == "*" && checkID(got[i]) != nil) || (w != "*" && w != got[i]) {
			return false
		}
	}
	return true
}
