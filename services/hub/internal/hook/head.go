package hook

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// heads are the fields that are read of an input that is too large to be read whole, and maxHead is the longest of them.
var heads = map[string]bool{"session_id": true, "transcript_path": true, "cwd": true, "hook_event_name": true, "tool_name": true,
	"tool_use_id": true}

const maxHead = 64 << 10

// ParseHead is [Parse] for an input of any size, of which it keeps nothing but the fields that say which event it is, in
// which session, and which tool is called.
func ParseHead(client, event string, in io.Reader, env func(string) string) (Call, error) {
	s := scanner{in: bufio.NewReaderSize(in, 64<<10)}
	fields, err := s.fields()
	if err != nil {
		return Call{}, err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return Call{}, err
	}
	return Parse(client, event, text, env)
}

var errHead = errors.New("the client's input is not the JSON of a hook")

// scanner reads JSON without keeping it.
type scanner struct{ in *bufio.Reader }

// fields returns the heads of an object.
func (s scanner) fields() (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if c, err := s.next(); err != nil || c != '{' {
		return nil, errors.Join(errHead, err)
	}
	for {
		c, err := s.next()
		switch {
		case err != nil:
			return nil, err
		case c == '}':
			return out, nil
		case c == ',':
			continue
		case c != '"':
			return nil, errHead
		}
		name, err := s.text(maxHead)
		if err != nil {
			return nil, err
		}
		var key string
		_ = json.Unmarshal(name, &key) // a name that is none, or too long, is no head
		if c, err = s.next(); err != nil || c != ':' {
			return nil, errors.Join(errHead, err)
		}
		value, err := s.value(heads[key])
		if err != nil {
			return nil, err
		}
		if value != nil {
			out[key] = value
		}
	}
}

// next returns the next byte that is no white space.
func (s scanner) next() (byte, error) {
	for {
		c, err := s.in.ReadByte()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

// value passes over a value. It returns one that is a string where it is to be kept.
func (s scanner) value(keep bool) (json.RawMessage, error) {
	for depth, first := 0, true; ; first = false {
		c, err := s.next()
		if err != nil {
			return nil, err
		}
		switch c {
		case '"':
			most := 0
			if keep && first {
				most = maxHead
			}
			text, err := s.text(most)
			if err != nil || first {
				return text, err
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of the object after a number
				return nil, s.in.UnreadByte()
			}
			if depth--; depth == 0 {
				return nil, nil
			}
		case ',':
			if depth == 0 {
				return nil, nil
			}
		}
	}
}

// text reads the rest of a string, and returns the string where it has at most a number of bytes.
func (s scanner) text(most int) (json.RawMessage, error) {
	out := json.RawMessage{'"'}
	for escaped := false; ; {
		c, err := s.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if len(out) <= most {
			out = append(out, c)
		}
		if c == '"' && !escaped {
			break
		}
		escaped = c == '\\' && !escaped
	}
	if len(out) > most {
		return nil, nil
	}
	return out, nil
}
