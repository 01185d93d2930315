package sqlite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"parley.internal/shared/store"
)

// Documents are JSON text with three additions for types that JSON lacks: a time is {"$t":microseconds}, a float always
// has a fraction or an exponent ("3.0"), and a key that begins with $ is written with a second $.

const hexDigits = "0123456789abcdef"

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func appendText(b []byte, v any) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case float64:
		n := len(b)
		b = strconv.AppendFloat(b, x, 'g', -1, 64)
		if !strings.ContainsAny(string(b[n:]), ".e") {
			b = append(b, ".0"...)
		}
		return b
	case time.Time:
		return append(strconv.AppendInt(append(b, `{"$t":`...), x.UnixMicro(), 10), '}')
	case string:
		return appendQuoted(b, x)
	case []any:
		b = append(b, '[')
		for i, e := range x {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, e)
		}
		return append(b, ']')
	case store.Fields:
		b = append(b, '{')
		first := true
		for k, e := range x { // in any order, because only parseText reads the text
			if !first {
				b = append(b, ',')
			}
			first = false
			if strings.HasPrefix(k, "$") {
				k = "$" + k
			}
			b = appendText(append(appendQuoted(b, k), ':'), e)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

var errText = errors.New("sqlite: a stored document cannot be read")

type textReader struct {
	s string
	i int
}

func parseText(s string) (store.Fields, error) {
	r := &textReader{s: s}
	v, err := r.value(0)
	if err != nil {
		return nil, fmt.Errorf("%w at byte %d", err, r.i)
	}
	d, ok := v.(store.Fields)
	if !ok || r.i != len(s) {
		return nil, errText
	}
	return d, nil
}

// maxDepth is the maximum nesting of a document, deeper than any that the codec produces from Parley's types.
const maxDepth = 100

func (r *textReader) value(depth int) (any, error) {
	if r.i >= len(r.s) || depth > maxDepth {
		return nil, errText
	}
	switch c := r.s[r.i]; c {
	case '{':
		return r.object(depth)
	case '[':
		r.i++
		list := []any{}
		for !r.eat(']') {
			if len(list) > 0 && !r.eat(',') {
				return nil, errText
			}
			v, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case '"':
		return r.text()
	case 't', 'f', 'n':
		for word, v := range map[string]any{"true": true, "false": false, "null": nil} {
			if strings.HasPrefix(r.s[r.i:], word) {
				r.i += len(word)
				return v, nil
			}
		}
		return nil, errText
	}
	return r.number()
}

func (r *textReader) eat(c byte) bool {
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *textReader) object(depth int) (any, error) {
	r.i++
	d := store.Fields{}
	for !r.eat('}') {
		if len(d) > 0 && !r.eat(',') {
			return nil, errText
		}
		if r.i >= len(r.s) || r.s[r.i] != '"' {
			return nil, errText
		}
		k, err := r.text()
		if err != nil {
			return nil, err
		}
		if !r.eat(':') {
			return nil, errText
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if k == "$t" {
			micros, ok := v.(int64)
			if !ok || !r.eat('}') {
				return nil, errText
			}
			return time.UnixMicro(micros).UTC(), nil
		}
		if strings.HasPrefix(k, "$$") {
			k = k[1:]
		}
		if _, dup := d[k]; dup {
			return nil, errText
		}
		d[k] = v
	}
	return d, nil
}

func (r *textReader) number() (any, error) {
	start := r.i
	for r.i < len(r.s) && strings.IndexByte("+-.0123456789e", r.s[r.i]) >= 0 {
		r.i++
	}
	word := r.s[start:r.i]
	if strings.ContainsAny(word, ".e") {
		f, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, errText
		}
		return f, nil
	}
	i, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return nil, errText
	}
	return i, nil
}

func (r *textReader) text() (string, error) {
	r.i++
	if n := strings.IndexAny(r.s[r.i:], `"\`); n >= 0 && r.s[r.i+n] == '"' {
		s := r.s[r.i : r.i+n]
		r.i += n + 1
		return s, nil
	}
	var b []byte
	for r.i < len(r.s) {
		c := r.s[r.i]
		r.i++
		switch c {
		case '"':
			return string(b), nil
		case '\\':
			if r.i >= len(r.s) {
				return "", errText
			}
			e := r.s[r.i]
			r.i++
			if e != 'u' {
				b = append(b, e)
				continue
			}
			if r.i+4 > len(r.s) {
				return "", errText
			}
			n, err := strconv.ParseUint(r.s[r.i:r.i+4], 16, 16)
			if err != nil || utf16.IsSurrogate(rune(n)) {
				return "", errText
			}
			r.i += 4
			b = utf8.AppendRune(b, rune(n))
		default:
			b = append(b, c)
		}
	}
	return "", errText
}
