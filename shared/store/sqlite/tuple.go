package sqlite

import (
	"encoding/binary"
	"math"
	"time"
)

// The tags order values of different types as package store does. Neither a tag nor its inverse is 0x00 or 0xff, so that
// a byte of 0xff sorts after any value.
const (
	tagNull   = 0x01
	tagBool   = 0x02
	tagNumber = 0x03
	tagTime   = 0x04
	tagString = 0x05
)

// appendValue appends the encoding of a scalar value, whose bytes sort as the values do; desc inverts the order. ok is
// false for values that are not indexed (arrays and maps).
func appendValue(b []byte, v any, desc bool) (out []byte, ok bool) {
	start := len(b)
	switch x := v.(type) {
	case nil:
		b = append(b, tagNull)
	case bool:
		b = append(b, tagBool, 0)
		if x {
			b[len(b)-1] = 1
		}
	case int64:
		b = appendNumber(b, float64(x))
	case float64:
		b = appendNumber(b, x)
	case time.Time:
		b = append(b, tagTime)
		b = binary.BigEndian.AppendUint64(b, uint64(x.UnixMicro())^(1<<63))
	case string:
		b = appendString(append(b, tagString), x)
	default:
		return b, false
	}
	if desc {
		for i := start; i < len(b); i++ {
			b[i] = ^b[i]
		}
	}
	return b, true
}

func appendNumber(b []byte, f float64) []byte {
	if f == 0 {
		f = 0 // -0 and 0 are equal
	}
	bits := math.Float64bits(f)
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(append(b, tagNumber), bits)
}

func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		b = append(b, s[i])
		if s[i] == 0 {
			b = append(b, 0xff)
		}
	}
	return append(b, 0, 0)
}
